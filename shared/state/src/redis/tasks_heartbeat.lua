-- Notes a node's sign of life for some tasks. Returns for each whether it runs there.
-- KEYS: the tasks. ARGV: the node.

local node = ARGV[1]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local running = {}
for index, task in ipairs(KEYS) do
  local fields = redis.call('HMGET', task, 'status', 'node', 'due')
  local runs = fields[1] == 'working' and fields[2] == node and tonumber(fields[3]) > now
  if runs then
    redis.call('HSET', task, 'heard', string.format('%.0f', now))
    redis.call('HDEL', task, 'doubted')
  end
  running[index] = runs and 1 or 0
end
return running
