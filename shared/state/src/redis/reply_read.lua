-- Returns the node that runs a call, the ids of its requests, 1 once it has ended, the place that was read from, and the numbers and bytes of the
-- events that follow; nothing when there is no such log.
-- ARGV: after which number.

local after = ARGV[3]

local head = load()
if not head then
  return false
end
if tonumber(after) > head.last then
  after = '0'
end
local numbers, events = {}, {}
for _, entry in ipairs(redis.call('XRANGE', EVENTS, '(' .. after .. '-0', '+')) do
  local number, of_end = string.match(entry[1], '^(%d+)-(%d)$')
  if of_end == '0' then
    numbers[#numbers + 1] = number
    events[#events + 1] = entry[2][2]
  end
end
return {head.node, head.requests, head.closed and 1 or 0, after, numbers, events}
