-- Returns the epoch, the last offset, 1 when the reader lost its place, and the offsets and bytes of what follows.
-- ARGV: the reader's epoch, its offset, how many entries it wants.

local reader_epoch, after, limit = ARGV[5], ARGV[6], ARGV[7]

local epoch, last = log_end()
if reader_epoch ~= epoch then
  return {epoch, last, 1, {}, {}}
end
local offsets, bytes = {}, {}
-- The place is lost unless it is the end, or the very one before the next entry that is still there.
local reached = last
for index, entry in ipairs(redis.call('XRANGE', LOG, '(' .. after .. '-0', '+', 'COUNT', limit)) do
  local fields = {}
  for field = 1, #entry[2], 2 do
    fields[entry[2][field]] = entry[2][field + 1]
  end
  if index == 1 then
    reached = fields.before
  end
  offsets[index] = string.match(entry[1], '^%d+')
  bytes[index] = fields.entry
end
if reached ~= after then
  return {epoch, last, 1, {}, {}}
end
return {epoch, last, 0, offsets, bytes}
