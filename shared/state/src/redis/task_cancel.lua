-- Ends a task. Returns 0 and its fields, or nothing when there is none that has not ended.

local task = load()
if not task or (task.status ~= 'working' and task.status ~= 'input_required') then
  return false
end
finish('cancelled')
return changed()
