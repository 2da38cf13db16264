-- Gives holds back, also those of an acquire whose outcome its owner does not know. The
-- last one deletes the lock and tells the waiters. It has no effect once a later request
-- of the owner has come. The package documentation explains serials, holds and notes.
--
-- KEYS[1]  the lock; see acquire.lua
-- KEYS[2]  the note of this owner; left out while a slot migrates
-- ARGV[1]  field of the owner
-- ARGV[2]  serial of this request
-- ARGV[3]  the hold that this is about; 0: whatever stands in the owner's name
-- ARGV[4]  how often the owner has it afterwards
-- ARGV[5]  channel of the lock. It is no key: a cluster takes a key that is not there for
--          one that has migrated.
-- ARGV[6]  unlock message
-- ARGV[7]  how long the note is kept in ms
--
-- Returns 1, or 0 when the owner has no such hold
local held = redis.pcall('hmget', KEYS[1], ARGV[1], 'hold', 'last')
if held.err and not string.find(held.err, 'WRONGTYPE') then
  return held
end
local mine = held[1] and (ARGV[3] == '0' or held[2] == ARGV[3])
local last = tonumber(held[3] or '0')
if mine and last > tonumber(ARGV[2]) then
  return 0
end
if mine and ARGV[4] == '0' then
  redis.call('del', KEYS[1])
  publish(ARGV[5], ARGV[6])
elseif mine and last < tonumber(ARGV[2]) then
  -- A server without memory lets a script write that has taken something away.
  redis.call('hdel', KEYS[1], 'last')
  redis.call('hset', KEYS[1], ARGV[1], ARGV[4], 'last', ARGV[2])
end
local note = KEYS[2] and not mine and redis.call('get', KEYS[2])
local overrules = KEYS[2] and ARGV[4] == '0' and tonumber(note or '0') < tonumber(ARGV[2])
if note == ARGV[2] then -- this request once more
  return 1
elseif overrules and (mine or ARGV[3] == '0') then
  redis.call('set', KEYS[2], ARGV[2], 'px', ARGV[7])
elseif overrules then -- nothing was given back: for the zero this request gets the same answer once more
  redis.pcall('set', KEYS[2], '0' .. ARGV[2], 'px', ARGV[7])
end
return mine and 1 or 0
