-- Notes which node runs a call, and makes the log of its reply unless there is one.
-- ARGV: the node, the ids of the requests, for how long in ms, how many replies a session may have.

local node, requests, ttl, most = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

local head = load()
if head then
  if not head.closed then
    head.node, head.ttl = node, ttl
    save(head, ttl)
  end
  return redis.status_reply('OK')
end

local function forget(stream)
  redis.call('HDEL', REPLIES, stream)
  redis.call('DEL', PREFIX .. stream)
end

-- Those that are left, the next to go first.
local others, opened = {}, 0
local replies = redis.call('HGETALL', REPLIES)
for field = 1, #replies, 2 do
  local stream, other = replies[field], cjson.decode(replies[field + 1])
  if stream == STREAM or other.expires <= NOW then
    forget(stream)
  else
    others[#others + 1] = {stream = stream, closed = other.closed, opened = other.opened}
    opened = math.max(opened, other.opened)
  end
end
table.sort(others, function(one, other)
  if one.closed ~= other.closed then
    return one.closed
  end
  return one.opened < other.opened
end)
for index = 1, #others - most + 1 do
  forget(others[index].stream)
end
save({node = node, requests = requests, ttl = ttl, opened = opened + 1, first = 1, last = 0, bytes = 0, closed = false}, ttl)
return redis.status_reply('OK')
