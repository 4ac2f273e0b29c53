-- Appends an event to a reply and returns its number, or nothing when there is no such log or it is closed.
-- ARGV: the event, how many events and how many bytes of them are kept.

local event, most, most_bytes = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local head = load()
if not head or head.closed then
  return false
end
head.last = head.last + 1
head.bytes = head.bytes + #event
redis.call('XADD', EVENTS, text(head.last) .. '-0', 'event', event)
while head.first < head.last and (head.last - head.first >= most or head.bytes > most_bytes) do
  local first = redis.call('XRANGE', EVENTS, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', EVENTS, first[1])
  head.bytes = head.bytes - #first[2][2]
  head.first = head.first + 1
end
save(head, head.ttl)
return head.last
