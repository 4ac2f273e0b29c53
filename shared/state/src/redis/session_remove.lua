-- Removes a session, and its replies. Returns 0 when there is none.
-- KEYS[3]: the session. KEYS[4]: its replies. ARGV: the log's entry, what the names of the replies' event logs begin
-- with.

local session, replies, entry, prefix = KEYS[3], KEYS[4], ARGV[5], ARGV[6]

if redis.call('DEL', session) == 0 then
  return 0
end
for _, stream in ipairs(redis.call('HKEYS', replies)) do
  redis.call('DEL', prefix .. stream)
end
redis.call('DEL', replies)
append(entry)
return 1
