-- What every script about one task begins with.
--
-- KEYS: the task; see `task_record.rs`. ARGV: for how long a silent node is not doubted, and then not taken for dead,
-- in ms.

local TASK, EXPIRY = KEYS[1], tonumber(ARGV[1])

local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

local function text(number)
  return string.format('%.0f', number)
end

-- What a script decides by: `status`, `node`, `heard`, `doubted`; nothing when there is no such task or its time is over.
local function load()
  local fields = redis.call('HMGET', TASK, 'status', 'node', 'heard', 'doubted', 'due')
  if not fields[1] or tonumber(fields[5]) <= NOW then
    return nil
  end
  return {status = fields[1], node = fields[2], heard = tonumber(fields[3]), doubted = tonumber(fields[4])}
end

local function runs_at(task, node)
  return task and task.status == 'working' and task.node == node
end

-- Whether a node was doubted for so long that it is dead.
local function is_orphan(task)
  return task and task.status == 'working' and task.doubted and NOW - task.doubted > EXPIRY
end

local function hear()
  redis.call('HSET', TASK, 'heard', text(NOW))
  redis.call('HDEL', TASK, 'doubted')
end

-- Removes the questions and the answers.
local function clear()
  for _, field in ipairs(redis.call('HKEYS', TASK)) do
    if string.find(field, '^ask:') or string.find(field, '^answer:') then
      redis.call('HDEL', TASK, field)
    end
  end
end

-- Has the task wait for a node, if nothing else is missing.
local function wait_for_a_node_if_all_is_answered()
  for _, field in ipairs(redis.call('HKEYS', TASK)) do
    local key = string.match(field, '^ask:(.*)$')
    if key and redis.call('HEXISTS', TASK, 'answer:' .. key) == 0 then
      return
    end
  end
  redis.call('HSET', TASK, 'status', 'working')
  hear()
end

-- Ends the task. `field` holds how, if it is not nothing.
local function finish(status, field, value)
  clear()
  redis.call('HDEL', TASK, 'state')
  redis.call('HSET', TASK, 'status', status)
  if field then
    redis.call('HSET', TASK, field, value)
  end
end

-- What a script that changed the task returns: whether it is an orphan, and its fields.
local function changed()
  local before = tonumber(redis.call('HGET', TASK, 'updated') or '0')
  redis.call('HSET', TASK, 'updated', text(math.max(NOW, before)))
  return {0, redis.call('HGETALL', TASK)}
end
