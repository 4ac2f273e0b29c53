-- Gives the floor to a stream, from the entry's offset on. Returns that offset, what `left` was, and the stream, node
-- and offset of the floor before, if there was one; nothing when there is no such session.
-- KEYS[3]: the session. ARGV: the log's entry, the stream, its node.

local session, entry, stream, node = KEYS[3], ARGV[5], ARGV[6], ARGV[7]

if redis.call('EXISTS', session) == 0 then
  return false
end
local before = redis.call('HMGET', session, 'left', 'floor:stream', 'floor:node', 'floor:at')
local offset, epoch = append(entry)
redis.call('HSET', session, 'left', offset, 'epoch', epoch,
  'floor:stream', stream, 'floor:node', node, 'floor:at', offset)
return {offset, unpack(before, 1, 4)}
