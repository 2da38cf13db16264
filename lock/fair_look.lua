-- Looks for many places of one client at once, and so keeps them.
--
-- ARGV[5]       lease of a place in ms
-- ARGV[6]       where to tell the owners
-- ARGV[7]       serial of this look
-- ARGV[7 + i]   field of an owner
--
-- Returns {pttl of the lock, and for each place 1, or 0 when it is no more}
local result = {}
local value = ARGV[7] .. ':' .. string.format('%.0f', now + ARGV[5]) .. ':' .. ARGV[6]
for i = 8, #ARGV do
  local serial = string.match(redis.call('hget', KEYS[4], ARGV[i]) or '', '^(%d+):')
  if not serial then
    result[i - 6] = 0
  else
    if tonumber(serial) < tonumber(ARGV[7]) then
      redis.call('hset', KEYS[4], ARGV[i], value)
    end
    result[i - 6] = 1
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
