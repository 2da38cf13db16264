-- Makes a hold last for a lease from now, and never shortens it.
--
-- KEYS[1]  the lock; see acquire.lua
-- ARGV[1]  field of the owner
-- ARGV[2]  the hold
-- ARGV[3]  lease in ms
--
-- Returns 1, or 0 when the owner has no such hold
local held = redis.pcall('hmget', KEYS[1], ARGV[1], 'hold')
if held.err and not string.find(held.err, 'WRONGTYPE') then
  return held
end
if not held[1] or held[2] ~= ARGV[2] then
  return 0
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
