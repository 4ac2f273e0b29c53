-- Saves a session, in place of any that there was, with the end of the log as `left` and `epoch`.
-- KEYS[3]: the session. ARGV: its time to live in ms, then fields and values.

local session, ttl = KEYS[3], ARGV[5]

local epoch, last = log_end()
redis.call('DEL', session)
redis.call('HSET', session, 'left', last, 'epoch', epoch)
for field = 6, #ARGV, 2 do
  redis.call('HSET', session, ARGV[field], ARGV[field + 1])
end
redis.call('PEXPIRE', session, ttl)
return redis.status_reply('OK')
