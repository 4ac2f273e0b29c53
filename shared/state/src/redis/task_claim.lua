-- Lets a node run on a task that waits for one. Returns 0 and its fields, or nothing when it does not.
-- ARGV: the node.

local task = load()
if not task or task.status ~= 'working' or task.node then
  return false
end
redis.call('HSET', TASK, 'node', ARGV[2])
hear()
return changed()
