-- Looks for many places of one client at once, and so keeps them.
--
-- ARGV[4]       lease of a place in ms
-- ARGV[5]       serial of this look
-- ARGV[5 + i]   field of an owner
--
-- Returns {pttl of the lock, and for each place 1, or 0 when it is no more}
local result = {}
local look = ARGV[5] .. ':' .. string.format('%.0f', now + ARGV[4])
for i = 6, #ARGV do
  local serial, rest = string.match(redis.call('hget', KEYS[3], ARGV[i]) or '', '^(%d+):%d+(:.*)$')
  if not serial then
    result[i - 4] = 0
  else
    if tonumber(serial) < tonumber(ARGV[5]) then
      redis.call('hset', KEYS[3], ARGV[i], look .. rest)
    end
    result[i - 4] = 1
  end
end
keep_queue(tonumber(ARGV[4]))
local pttl = redis.call('pttl', KEYS[1])
if pttl == -2 and hand_on() then
  pttl = redis.call('pttl', KEYS[1])
end
result[1] = pttl
return result
