-- Saves a new task, unless it is there already. Returns 0 and its fields, or nothing when its principal has as many as
-- it may have.
-- KEYS: then its principal's tasks, and all tasks: both sorted sets: task → when its time to live is over in ms. ARGV: the
-- task's name, its time to live, for how long after that nothing of it is left (both in ms), how many tasks its principal
-- may have, then fields and values.

local of_principal, all = KEYS[2], KEYS[3]
local id, ttl, linger, most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

if load() then
  return {0, redis.call('HGETALL', TASK)}
end
redis.call('ZREMRANGEBYSCORE', of_principal, '-inf', text(NOW))
if redis.call('ZCARD', of_principal) >= most then
  return false
end
redis.call('DEL', TASK)
local due = text(NOW + ttl)
redis.call('HSET', TASK, 'status', 'working', 'created', text(NOW), 'due', due, unpack(ARGV, 6))
redis.call('PEXPIRE', TASK, text(ttl + linger))
hear()
for _, set in ipairs({of_principal, all}) do
  redis.call('ZADD', set, due, id)
  if redis.call('PTTL', set) < ttl + linger then
    redis.call('PEXPIRE', set, text(ttl + linger))
  end
end
return changed()
