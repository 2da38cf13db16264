-- Looks for many places of one client at once, and so keeps them.
--
-- ARGV[5]       lease of a place in ms
-- ARGV[6]       serial of this look
-- ARGV[6 + i]   field of an owner
--
-- Returns {pttl of the lock, and for each place 1, or 0 when it is no more}
local result = {}
local look = ARGV[6] .. ':' .. string.format('%.0f', now + ARGV[5])
for i = 7, #ARGV do
  local serial, rest = string.match(redis.call('hget', KEYS[4], ARGV[i]) or '', '^(%d+):%d+(:.*)$')
  if not serial then
    result[i - 5] = 0
  else
    if tonumber(serial) < tonumber(ARGV[6]) then
      redis.call('hset', KEYS[4], ARGV[i], look .. rest)
    end
    result[i - 5] = 1
  end
end
redis.call('pexpire', KEYS[3], 2 * ARGV[5])
redis.call('pexpire', KEYS[4], 2 * ARGV[5])
local pttl = redis.call('pttl', KEYS[1])
if pttl == -2 and hand_on() then
  pttl = redis.call('pttl', KEYS[1])
end
result[1] = pttl
return result
