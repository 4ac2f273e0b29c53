-- Notes that a call has ended.
-- ARGV: for how long its reply is kept in ms.

local head = load()
if head and not head.closed then
  head.closed = true
  -- Wakes those who wait for the next event.
  redis.call('XADD', EVENTS, text(head.last) .. '-1', 'event', '')
  save(head, tonumber(ARGV[3]))
end
return redis.status_reply('OK')
