-- Has a task wait for answers. Returns 0 and its fields, or nothing when it does not run at that node.
-- ARGV: the node, the state, then fields and values: the questions.

if not runs_at(load(), ARGV[2]) then
  return false
end
clear()
redis.call('HDEL', TASK, 'node')
redis.call('HINCRBY', TASK, 'round', 1)
redis.call('HSET', TASK, 'status', 'input_required', 'state', ARGV[3])
for index = 4, #ARGV, 2 do
  redis.call('HSET', TASK, ARGV[index], ARGV[index + 1])
end
wait_for_a_node_if_all_is_answered()
return changed()
