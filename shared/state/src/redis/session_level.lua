-- Sets a session's log level. Returns 0 when there is no such session.
-- KEYS: the session. ARGV: the level.

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'level', ARGV[1])
return 1
