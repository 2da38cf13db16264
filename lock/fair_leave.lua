-- Leaves the queue. A lock that the owner has without knowing it is handed on. No
-- request that the owner sent before has an effect should it arrive later.
--
-- ARGV[5]  field of the owner
-- ARGV[6]  serial of this request, greater than those of all before
-- ARGV[7]  how long that is remembered in ms
--
-- Returns {'undone', 0} | {'none'} when the lock was not this owner's
local note = ARGV[2] .. ARGV[5]
local serial = parse(redis.call('get', note))
if serial and tonumber(serial) >= tonumber(ARGV[6]) then
  return {'none'}
end
redis.call('zrem', KEYS[3], ARGV[5])
redis.call('hdel', KEYS[4], ARGV[5])
redis.call('set', note, ARGV[6] .. ':0:cancelled', 'px', ARGV[7])
if redis.pcall('hexists', KEYS[1], ARGV[5]) ~= 1 then
  return {'none'}
end
free(ARGV[5])
return {'undone', 0}
