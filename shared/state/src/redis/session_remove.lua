-- Removes a session. Returns 0 when there is none.
-- KEYS[3]: the session. ARGV: the log's entry.

if redis.call('DEL', KEYS[3]) == 0 then
  return 0
end
append(ARGV[5])
return 1
