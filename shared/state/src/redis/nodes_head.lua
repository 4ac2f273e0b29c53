-- What every script that changes the registry begins with.
--
-- KEYS: `nodes`, `nodes:offers`, `nodes:heard`, `nodes:gateways`, `nodes:listed`, `nodes:state`. ARGV: after how long
-- a silent node is dead, after how long nobody's word means that the store was away, how long an unused registry is
-- kept (all in ms), the node that this is about.
--
-- Versions, generations and times are text, as they have more digits than Lua prints of a number.

local NODES, OFFERS, HEARD, GATEWAYS, LISTED, STATE = unpack(KEYS)
local EXPIRY, SILENCE, IDLE, NODE = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]

local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

local function text(number)
  return string.format('%.0f', number)
end

local function state(field)
  return redis.call('HGET', STATE, field) or '0'
end

-- Raises a number by at least one. It follows the clock in us, so that it also grows when its last value was lost.
local function raise(field)
  local value = text(math.max(tonumber(state(field)) + 1, TIME[1] * 1000000 + TIME[2]))
  redis.call('HSET', STATE, field, value)
  return value
end

local function hear()
  redis.call('ZADD', HEARD, text(NOW), NODE)
end

-- Takes a node out, if it is there.
local function drop(node)
  redis.call('HDEL', OFFERS, node)
  redis.call('ZREM', HEARD, node)
  redis.call('HDEL', GATEWAYS, node)
  if redis.call('HDEL', NODES, node) == 1 then
    raise('generation')
  end
end

-- Takes out the nodes that were silent for too long, unless the store itself was away.
local function sweep()
  if NOW - tonumber(state('heard')) > SILENCE then
    redis.call('HSET', STATE, 'grace', text(NOW + EXPIRY))
  end
  redis.call('HSET', STATE, 'heard', text(NOW))
  if NOW < tonumber(state('grace')) then
    return
  end
  for _, node in ipairs(redis.call('ZRANGEBYSCORE', HEARD, '-inf', '(' .. text(NOW - EXPIRY))) do
    drop(node)
  end
end

-- The digest under each name that most nodes have, on a tie the one announced last.
local function winners()
  local tallies = {}
  for _, offers in ipairs(redis.call('HVALS', OFFERS)) do
    for _, offer in ipairs(cjson.decode(offers)) do
      local name, digest, since = offer[1], offer[2], tonumber(offer[3])
      tallies[name] = tallies[name] or {}
      local tally = tallies[name][digest] or {nodes = 0, since = 0}
      tally.nodes = tally.nodes + 1
      tally.since = math.max(tally.since, since)
      tallies[name][digest] = tally
    end
  end
  local winners = {}
  for name, digests in pairs(tallies) do
    local best
    for digest, tally in pairs(digests) do
      if not best or tally.nodes > best.nodes or (tally.nodes == best.nodes and tally.since > best.since) then
        best = tally
        winners[name] = digest
      end
    end
  end
  return winners
end

-- Brings `nodes:listed` up to date and returns the kinds of which something changed.
local function relist()
  local kinds = {}
  local function changed(name)
    kinds[string.match(name, '^[^:]*')] = true
  end
  local after = winners()
  local before = redis.call('HGETALL', LISTED)
  for field = 1, #before, 2 do
    local name, digest = before[field], before[field + 1]
    if after[name] == digest then
      after[name] = nil
    elseif not after[name] then
      redis.call('HDEL', LISTED, name)
      changed(name)
    end
  end
  for name, digest in pairs(after) do
    redis.call('HSET', LISTED, name, digest)
    changed(name)
  end
  local list = {}
  for kind in pairs(kinds) do
    list[#list + 1] = kind
  end
  return list
end

-- What a script returns last: the version, the generation, and the kinds of which the listed entries changed.
local GENERATION = state('generation')
local function outcome()
  local kinds = {}
  if state('generation') ~= GENERATION then
    kinds = relist()
  end
  if #kinds > 0 then
    raise('version')
  end
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, IDLE)
  end
  return {state('version'), state('generation'), kinds}
end
