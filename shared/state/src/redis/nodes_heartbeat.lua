-- Notes a node's sign of life. Returns first whether the node is known.
-- ARGV: the catalogue version that a gateway serves from, or nothing.

local seen = ARGV[5]

local known = redis.call('HEXISTS', NODES, NODE)
if known == 1 then
  hear()
  if seen ~= '' and redis.call('HEXISTS', GATEWAYS, NODE) == 1 then
    redis.call('HSET', GATEWAYS, NODE, seen)
  end
end
sweep()
return {known, unpack(outcome())}
