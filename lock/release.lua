-- Gives holds back; the last one deletes the lock and tells the waiters. The
-- note keeps how many are left, so running it again returns the same. See
-- acquire.lua for notes and serials.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of the lock
-- KEYS[3]  the note of this owner
-- ARGV[1]  unlock message
-- ARGV[2]  field of the owner
-- ARGV[3]  serial of this request
-- ARGV[4]  the hold that this is about
-- ARGV[5]  how often the owner has it afterwards
-- ARGV[6]  what the owner's other holds are still owed in ms; 0 or less: there
--          are none, or they are over, and the lock is freed. The lease is
--          never lengthened.
-- ARGV[7]  how long the note outlives the hold in ms
--
-- Returns {'released', count left} | {'none'} when the owner has no such hold
local note = redis.call('get', KEYS[3])
local serial, hold, what = string.match(note or '', '^(%d+):(%d+):(%w+)$')
if serial == ARGV[3] then
  return {'released', tonumber(what)}
end
if hold ~= ARGV[4] or tonumber(serial) > tonumber(ARGV[3]) then
  return {'none'}
end
if redis.pcall('hexists', KEYS[1], ARGV[2]) ~= 1 then
  return {'none'}
end
local count, owed = tonumber(ARGV[5]), math.max(tonumber(ARGV[6]), 0)
if owed > 0 then
  redis.call('hset', KEYS[1], ARGV[2], count)
  if redis.call('pttl', KEYS[1]) > owed then
    redis.call('pexpire', KEYS[1], owed)
  end
else
  count = 0
  -- The owner's is the only field, so the lock goes with it.
  redis.call('hdel', KEYS[1], ARGV[2])
  redis.call('publish', KEYS[2], ARGV[1])
end
redis.call('set', KEYS[3], ARGV[3] .. ':' .. hold .. ':' .. count, 'px', owed + ARGV[7])
return {'released', count}
