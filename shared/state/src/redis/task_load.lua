-- Returns whether a task is an orphan, and its fields; nothing when there is no such task. Doubts a silent node.

local task = load()
if not task then
  return false
end
if task.status == 'working' and not task.doubted and NOW - task.heard > EXPIRY then
  redis.call('HSET', TASK, 'doubted', text(NOW))
end
return {is_orphan(task) and 1 or 0, redis.call('HGETALL', TASK)}
