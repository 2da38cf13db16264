-- Takes the lock, or a place in its queue.
--
-- KEYS[5]  the note of this owner; see acquire.lua
-- ARGV[4]  field of the owner
-- ARGV[5]  serial of this request
-- ARGV[6]  serial of the owner's first request for this hold
-- ARGV[7]  lease of the hold in ms
-- ARGV[8]  lease of a place in ms; 0: the owner does not wait
-- ARGV[9]  where to tell the owner that the lock was handed to it
--
-- Returns {'granted', hold, token} | {'busy', pttl} | {'stale', serial}; see acquire.lua
local field, serial = ARGV[4], tonumber(ARGV[5])
local held = redis.call('hmget', KEYS[1], field, 'hold', 'last')
local seen = held[1] and held[3] or redis.call('get', KEYS[5])
if seen and tonumber(seen) > serial then
  return {'stale', seen}
end
local pttl = redis.call('pttl', KEYS[1])
if held[1] and tonumber(held[2] or '0') >= tonumber(ARGV[6]) then
  -- The lock was handed to this owner, or the request comes once more.
  redis.call('hset', KEYS[1], 'last', ARGV[5])
  if pttl < tonumber(ARGV[7]) then
    redis.call('pexpire', KEYS[1], ARGV[7])
  end
  return {'granted', held[2], redis.call('get', KEYS[4]) or '0'}
end
-- A lock that is free with a queue was not handed on: its holder has died.
if pttl == -2 and hand_on(field) then
  pttl = redis.call('pttl', KEYS[1])
end
if pttl == -2 then
  return {'granted', ARGV[5], give(field, ARGV[5], ARGV[7])}
end
if ARGV[8] ~= '0' then
  local known = string.match(redis.call('hget', KEYS[3], field) or '', '^(%d+):')
  if not known or tonumber(known) < serial then
    redis.call('hset', KEYS[3], field, ARGV[5] .. ':' .. string.format('%.0f', now + ARGV[8]) .. ':' .. ARGV[7] .. ':' .. ARGV[9])
  end
  if not redis.call('zscore', KEYS[2], field) then
    local last = redis.call('zrange', KEYS[2], -1, -1, 'withscores')[2] or '0'
    redis.call('zadd', KEYS[2], last + 1, field)
  end
  keep_queue(tonumber(ARGV[8]))
end
return {'busy', pttl}
