-- KEYS[1] the permits, each with the end of its lease; ARGV[1] a permit, ARGV[2] the
-- time in ms; without it the server's counts. Returns 1 if its lease went on.
local t = redis.call('time')
local now = tonumber(ARGV[2]) or t[1] * 1000 + math.floor(t[2] / 1000)
local ends = redis.call('zscore', KEYS[1], ARGV[1])
redis.call('zrem', KEYS[1], ARGV[1])
return ends and tonumber(ends) > now and 1 or 0
