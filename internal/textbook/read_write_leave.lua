-- KEYS[1] the lock: its mode, and each hold with the end of its lease; ARGV[1] a hold.
-- Returns 1 if its lease went on. A writer who reads as well leaves a lock for readers.
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ends = redis.call('hget', KEYS[1], ARGV[1])
redis.call('hdel', KEYS[1], ARGV[1])
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
elseif ends and string.find(ARGV[1], '#write') then
  redis.call('hset', KEYS[1], 'mode', 'read')
end
return ends and tonumber(ends) > now and 1 or 0
