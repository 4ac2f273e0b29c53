-- Returns the keys of a secret, the newest first, and makes the first one.
-- KEYS: the secret, a sorted set: key → when it is no longer wanted in us, the newest one never. ARGV: a new key, how
-- long an unused secret is kept in ms.

local secret, new, idle = KEYS[1], ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])

redis.call('ZREMRANGEBYSCORE', secret, '-inf', now)
if redis.call('EXISTS', secret) == 0 then
  redis.call('ZADD', secret, '+inf', new)
end
redis.call('PEXPIRE', secret, idle)
return redis.call('ZRANGE', secret, 0, -1, 'REV')
