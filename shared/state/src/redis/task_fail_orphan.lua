-- Fails a task whose node is dead. Returns 0 and its fields, or nothing for any other.
-- ARGV: the error.

if not is_orphan(load()) then
  return false
end
finish('failed', 'error', ARGV[2])
return changed()
