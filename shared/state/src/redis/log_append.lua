-- Appends an entry, unless its producer has just done so. Returns its offset, and 1 for a repeat.
-- KEYS[3]: where the producer's id is remembered; none when it has none. ARGV: the entry, for how long in ms.

local producer, bytes, remember = KEYS[3], ARGV[5], ARGV[6]

if producer then
  local epoch = log_end()
  local seen_epoch, offset = string.match(redis.call('GET', producer) or '', '^(%S+) (%d+)$')
  if seen_epoch == epoch then
    return {offset, 1}
  end
end
local offset, epoch = append(bytes)
if producer then
  redis.call('SET', producer, epoch .. ' ' .. offset, 'PX', remember)
end
return {offset, 0}
