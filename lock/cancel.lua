-- Takes back an acquire whose outcome its owner does not know, and makes sure
-- that it has no effect should it arrive later.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of the lock
-- KEYS[3]  the latch of the request
-- ARGV[1]  unlock message
-- ARGV[2]  field of the owner
-- ARGV[3]  what the owner's other holds are still owed in ms; 0: it has none,
--          so that anything found under its name is an orphan
-- ARGV[4]  how long the latch lasts in ms
--
-- Returns {'undone', count left} | {'none'} when there was nothing to undo
local latch = redis.call('get', KEYS[3])
redis.call('set', KEYS[3], '0', 'px', ARGV[4])
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {'none'}
end
local count = 0
if tonumber(ARGV[3]) > 0 then
  if latch ~= 'a' then
    return {'none'}
  end
  count = redis.call('hincrby', KEYS[1], ARGV[2], -1)
end
if count > 0 then
  redis.call('pexpire', KEYS[1], ARGV[3])
else
  count = 0
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], ARGV[1])
end
return {'undone', count}
