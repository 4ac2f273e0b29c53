-- Adds a subscription from the entry's offset on, or leaves the one that there is. Returns its offset, or nothing when
-- there is no such session.
-- KEYS[3]: the session. ARGV: the log's entry, the subscription's field.

local session, entry, field = KEYS[3], ARGV[5], ARGV[6]

if redis.call('EXISTS', session) == 0 then
  return false
end
local first = redis.call('HGET', session, field)
if first then
  return first
end
local offset = append(entry)
redis.call('HSET', session, field, offset)
return offset
