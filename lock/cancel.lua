-- Takes back an acquire whose outcome its owner does not know, and makes sure
-- that it has no effect should it arrive later. It has the acquire's serial, so
-- it has no effect itself once the owner has gone on. See acquire.lua for notes.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of the lock
-- KEYS[3]  the note of this owner
-- ARGV[1]  unlock message
-- ARGV[2]  field of the owner
-- ARGV[3]  serial of the acquire
-- ARGV[4]  how often the owner has the lock without it
-- ARGV[5]  what those holds are still owed in ms; 0 or less: there are none, so
--          that an earlier hold that is found under its name is an orphan. The
--          lease is never lengthened.
-- ARGV[6]  how long the note outlives the hold in ms
--
-- Returns {'undone', count left} | {'none'} when there was nothing to undo
local note = redis.call('get', KEYS[3])
local serial, hold, what = string.match(note or '', '^(%d+):(%d+):(%w+)$')
local executed = serial == ARGV[3]
if serial and tonumber(serial) > tonumber(ARGV[3]) or executed and what == 'cancelled' then
  return {'none'}
end
local count, owed = tonumber(ARGV[4]), math.max(tonumber(ARGV[5]), 0)
local undone = hold and redis.pcall('hexists', KEYS[1], ARGV[2]) == 1
if undone then
  if owed == 0 then
    count = 0
    redis.call('hdel', KEYS[1], ARGV[2])
    redis.call('publish', KEYS[2], ARGV[1])
  elseif executed then
    redis.call('hset', KEYS[1], ARGV[2], count)
    if redis.call('pttl', KEYS[1]) > owed then
      redis.call('pexpire', KEYS[1], owed)
    end
  else
    undone = false
  end
end
redis.call('set', KEYS[3], ARGV[3] .. ':' .. (hold or '0') .. ':cancelled', 'px', owed + ARGV[6])
if not undone then
  return {'none'}
end
return {'undone', count}
