-- Removes a subscription. Returns 0 when there is none.
-- KEYS[3]: the session. ARGV: the log's entry, the subscription's field.

if redis.call('HDEL', KEYS[3], ARGV[6]) == 0 then
  return 0
end
append(ARGV[5])
return 1
