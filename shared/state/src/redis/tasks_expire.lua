-- Removes tasks whose time to live is over, and returns the names and fields of those of which there are any.
-- KEYS: all tasks. ARGV: what the name of a task's key begins with, how many at most.
--
-- The names of the keys are made here, out of what is in the set; they lie in its slot.

local all, prefix, limit = KEYS[1], ARGV[1], ARGV[2]

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

local names, records = {}, {}
for _, id in ipairs(redis.call('ZRANGE', all, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)) do
  local fields = redis.call('HGETALL', prefix .. id)
  if #fields > 0 then
    names[#names + 1] = id
    records[#records + 1] = fields
  end
  redis.call('DEL', prefix .. id)
  redis.call('ZREM', all, id)
end
return {names, records}
