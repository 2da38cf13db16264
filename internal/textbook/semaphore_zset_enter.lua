-- KEYS[1] the permits, each with the end of its lease; ARGV[1] the first of some, ARGV[2] their
-- lease in ms, ARGV[3] how many permits there are, ARGV[4] how many of them to take, ARGV[5] the
-- time in ms; without it the server's counts. Returns 1 for a grant, also when asked again.
local t = redis.call('time')
local now = tonumber(ARGV[5]) or t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zscore', KEYS[1], ARGV[1]) then
  return 1
end
if redis.call('zcard', KEYS[1]) + tonumber(ARGV[4]) > tonumber(ARGV[3]) then
  return 0
end
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
for i = 2, tonumber(ARGV[4]) do
  redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1] .. '/' .. i)
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
