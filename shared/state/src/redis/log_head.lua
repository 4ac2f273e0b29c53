-- What every script that reads or changes the event log begins with.
--
-- KEYS: the log's head, the log. ARGV: the name of a new epoch, how long an entry is kept in us, how long an unused
-- log is kept in ms, how many entries are kept.
--
-- Offsets are text here, as they have more digits than Lua prints of a number. They stay below 2^53.

local HEAD, LOG = KEYS[1], KEYS[2]
local NEW_EPOCH, MAX_AGE, IDLE, MAX_ENTRIES = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function text(number)
  return string.format('%.0f', number)
end

-- The epoch and the last offset. A log whose head is gone has lost its data, so a new epoch begins.
local function log_end()
  local head = redis.call('HMGET', HEAD, 'epoch', 'last')
  if not head[1] then
    redis.call('DEL', LOG)
    head = {NEW_EPOCH, '0'}
    redis.call('HSET', HEAD, 'epoch', head[1], 'last', head[2])
  end
  redis.call('PEXPIRE', HEAD, IDLE)
  redis.call('PEXPIRE', LOG, IDLE)
  return head[1], head[2]
end

-- Appends an entry and returns its offset and epoch. Offsets follow the clock, in microseconds: so one tells its age,
-- and a log that lost data never gives one out twice. `before` names the entry before.
local function append(bytes)
  local epoch, last = log_end()
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local offset = text(math.max(tonumber(last) + 1, now))
  local oldest = text(math.max(0, now - MAX_AGE))
  redis.call('XADD', LOG, 'MINID', '~', oldest, offset .. '-0', 'before', last, 'entry', bytes)
  redis.call('XTRIM', LOG, 'MAXLEN', '~', MAX_ENTRIES)
  redis.call('PEXPIRE', LOG, IDLE)
  redis.call('HSET', HEAD, 'last', offset)
  return offset, epoch
end
