-- KEYS[1] the permits, each with the end of its lease; ARGV[1] the first of some, ARGV[2] how
-- many they are, ARGV[3] the time in ms; without it the server's counts. Returns 1 if their
-- lease went on.
local t = redis.call('time')
local now = tonumber(ARGV[3]) or t[1] * 1000 + math.floor(t[2] / 1000)
local ends = redis.call('zscore', KEYS[1], ARGV[1])
redis.call('zrem', KEYS[1], ARGV[1])
for i = 2, tonumber(ARGV[2]) do
  redis.call('zrem', KEYS[1], ARGV[1] .. '/' .. i)
end
return ends and tonumber(ends) > now and 1 or 0
