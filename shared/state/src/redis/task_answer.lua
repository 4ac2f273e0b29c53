-- Notes answers. Returns 0 and the task's fields, or nothing when it does not wait for any.
-- ARGV: keys and answers.

local task = load()
if not task or task.status ~= 'input_required' then
  return false
end
for index = 2, #ARGV, 2 do
  if redis.call('HEXISTS', TASK, 'ask:' .. ARGV[index]) == 1 then
    redis.call('HSETNX', TASK, 'answer:' .. ARGV[index], ARGV[index + 1])
  end
end
wait_for_a_node_if_all_is_answered()
return changed()
