-- Notes that a session's client is ready. Returns 0 when there is no such session.
-- KEYS[3]: the session. ARGV: the log's entry.

if redis.call('EXISTS', KEYS[3]) == 0 then
  return 0
end
redis.call('HSET', KEYS[3], 'ready', '1')
append(ARGV[5])
return 1
