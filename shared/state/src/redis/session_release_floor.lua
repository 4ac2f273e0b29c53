-- Ends a stream's hold of the floor. Returns 0 when it does not have it.
-- KEYS: the session. ARGV: the stream, the offset up to which facts have left.

local session, stream, left = KEYS[1], ARGV[1], ARGV[2]

if redis.call('HGET', session, 'floor:stream') ~= stream then
  return 0
end
redis.call('HDEL', session, 'floor:stream', 'floor:node', 'floor:at')
redis.call('HSET', session, 'left', left)
return 1
