-- Sets a task's message. Returns 0 and its fields, or nothing when it does not run at that node.
-- ARGV: the node, the message.

if not runs_at(load(), ARGV[2]) then
  return false
end
redis.call('HSET', TASK, 'message', ARGV[3])
return changed()
