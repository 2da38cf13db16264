-- Gives one hold back; the last one deletes the lock and tells the waiters.
-- The result is kept in the latch, so running it again returns the same.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of the lock
-- KEYS[3]  the latch of the request that took this hold
-- ARGV[1]  unlock message
-- ARGV[2]  field of the owner
-- ARGV[3]  what the owner's other holds are still owed in ms; 0 or less: this
--          was the last hold, and the lock is freed whatever the count says
-- ARGV[4]  how long the latch lasts in ms, from the last time that this was run
--
-- Returns {'released', count left} | {'none'} when the owner holds nothing
local latch = redis.call('get', KEYS[3])
if latch and latch ~= 'a' then
  redis.call('pexpire', KEYS[3], ARGV[4])
  return {'released', tonumber(latch)}
end
local count = 0
if tonumber(ARGV[3]) > 0 then
  if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
    return {'none'}
  end
  count = redis.call('hincrby', KEYS[1], ARGV[2], -1)
end
if count > 0 then
  redis.call('pexpire', KEYS[1], ARGV[3])
else
  count = 0
  -- The owner's is the only field, so the lock goes with it.
  if redis.call('hdel', KEYS[1], ARGV[2]) == 0 then
    return {'none'}
  end
  redis.call('publish', KEYS[2], ARGV[1])
end
redis.call('set', KEYS[3], count, 'px', ARGV[4])
return {'released', count}
