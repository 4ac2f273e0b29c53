-- Makes a node known, or changes what is known of it.
-- ARGV: the node's record, `[[kind:name, digest], …]` of what it offers, 1 if it is a gateway.

local record, offers, gateway = ARGV[5], ARGV[6], ARGV[7]

hear()
if redis.call('HGET', NODES, NODE) ~= record then
  local generation = raise('generation')
  local since = {}
  for _, offer in ipairs(cjson.decode(redis.call('HGET', OFFERS, NODE) or '[]')) do
    since[offer[1] .. ' ' .. offer[2]] = offer[3]
  end
  offers = cjson.decode(offers)
  for _, offer in ipairs(offers) do
    offer[3] = since[offer[1] .. ' ' .. offer[2]] or generation
  end
  redis.call('HSET', NODES, NODE, record)
  redis.call('HSET', OFFERS, NODE, cjson.encode(offers))
  if gateway == '1' then
    redis.call('HSETNX', GATEWAYS, NODE, '0')
  else
    redis.call('HDEL', GATEWAYS, NODE)
  end
end
sweep()
return outcome()
