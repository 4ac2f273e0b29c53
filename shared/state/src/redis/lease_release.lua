-- Gives a lease back, if this node has it.
-- KEYS: the lease. ARGV: the node.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
return redis.status_reply('OK')
