-- Puts a new key in the place of the one used until now; the others stay wanted for a while, if they were.
-- KEYS: the secret, as for `secret.lua`. ARGV: the new key, how long an unused secret is kept in ms, how long the others
-- stay wanted in ms, how many keys there may be.

local secret, new, idle, keep, most = KEYS[1], ARGV[1], ARGV[2], ARGV[3] * 1000, ARGV[4]

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

for index, key in ipairs(redis.call('ZRANGE', secret, 0, -1)) do
  -- Never the same, so that they keep their order.
  redis.call('ZADD', secret, 'LT', string.format('%.0f', now + keep + index), key)
end
redis.call('ZADD', secret, '+inf', new)
redis.call('ZREMRANGEBYSCORE', secret, '-inf', string.format('%.0f', now))
redis.call('ZREMRANGEBYRANK', secret, 0, -1 - most)
redis.call('PEXPIRE', secret, idle)
return redis.status_reply('OK')
