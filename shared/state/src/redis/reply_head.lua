-- What every script about a reply begins with.
--
-- KEYS: the session's replies, a hash: stream → its head, as JSON: `node`, `requests` (a JSON array of ids), `ttl` (in
-- ms), `expires` (in ms since 1970), `opened` (in which order), `first` and `last` (the numbers of the events that are
-- kept), `bytes` (how many they are), `closed`. ARGV: what the name of an event log begins with, the stream.
--
-- An event log is a stream whose ids are `NUMBER-0`. Its key is made here, so that no client's word for a stream names
-- a key unless the session has such a reply; it lies in the slot of the others. The end of the call is `LAST-1`.

local REPLIES, PREFIX, STREAM = KEYS[1], ARGV[1], ARGV[2]
local EVENTS = PREFIX .. STREAM

local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

local function text(number)
  return string.format('%.0f', number)
end

-- The head of this reply, or nothing when there is none or its time is over.
local function load()
  local head = redis.call('HGET', REPLIES, STREAM)
  head = head and cjson.decode(head)
  return head and head.expires > NOW and head or nil
end

-- Saves the head, to be gone after `ttl` with all that belongs to it.
local function save(head, ttl)
  head.expires = NOW + ttl
  redis.call('HSET', REPLIES, STREAM, cjson.encode(head))
  redis.call('PEXPIRE', EVENTS, text(ttl))
  if redis.call('PTTL', REPLIES) < tonumber(ttl) then
    redis.call('PEXPIRE', REPLIES, text(ttl))
  end
end
