-- Whether every live gateway has reported a version or a later one.
-- KEYS: `nodes:gateways`, `nodes:heard`. ARGV: the version, after how long a silent node is dead in ms.

local gateways, heard, version, expiry = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local reports = redis.call('HGETALL', gateways)
for field = 1, #reports, 2 do
  local alive = now - tonumber(redis.call('ZSCORE', heard, reports[field]) or '0') <= expiry
  if alive and tonumber(reports[field + 1]) < version then
    return 0
  end
end
return 1
