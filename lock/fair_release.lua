-- Gives the lock back, and hands it on, or leaves the queue. See release.lua.
--
-- KEYS[5]  the note of this owner
-- ARGV[4]  field of the owner
-- ARGV[5]  serial of this request
-- ARGV[6]  the hold that this is about; 0: whatever stands in the owner's name, and its
--          place
-- ARGV[7]  how long the note is kept in ms
--
-- Returns 1, or 0 when the owner has no such hold
local field = ARGV[4]
local held = redis.pcall('hmget', KEYS[1], field, 'hold', 'last')
if held.err and not string.find(held.err, 'WRONGTYPE') then
  return held
end
local mine = held[1] and (ARGV[6] == '0' or held[2] == ARGV[6])
if mine and tonumber(held[3] or '0') > tonumber(ARGV[5]) then
  return 0
end
local place = string.match(redis.call('hget', KEYS[3], field) or '', '^(%d+):')
if ARGV[6] == '0' and place and tonumber(place) < tonumber(ARGV[5]) then
  redis.call('zrem', KEYS[2], field)
  redis.call('hdel', KEYS[3], field)
end
if mine then
  redis.call('del', KEYS[1])
  if not hand_on() then
    publish(ARGV[2], ARGV[1])
  end
end
local note = redis.call('get', KEYS[5])
local overrules = tonumber(note or '0') < tonumber(ARGV[5])
if note == ARGV[5] then -- this request once more
  return 1
elseif overrules and (mine or ARGV[6] == '0') then
  redis.call('set', KEYS[5], ARGV[5], 'px', ARGV[7])
elseif overrules then -- see release.lua
  redis.pcall('set', KEYS[5], '0' .. ARGV[5], 'px', ARGV[7])
end
return mine and 1 or 0
