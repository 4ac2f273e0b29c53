-- Ends a task that a node runs. Returns 0 and its fields, or nothing when it does not run there.
-- ARGV: the node, the status, `result` or `error`, that.

if not runs_at(load(), ARGV[2]) then
  return false
end
finish(ARGV[3], ARGV[4], ARGV[5])
return changed()
