-- Renews many locks in one call. A lease is never shortened.
--
-- KEYS[i]        a lock
-- ARGV[2i - 1]   field of its owner
-- ARGV[2i]       lease in ms
--
-- Returns one number per lock: 1 renewed, 0 this owner does not hold it
local result = {}
for i, key in ipairs(KEYS) do
  result[i] = 0
  if redis.call('hexists', key, ARGV[2 * i - 1]) == 1 then
    if redis.call('pttl', key) < tonumber(ARGV[2 * i]) then
      redis.call('pexpire', key, ARGV[2 * i])
    end
    result[i] = 1
  end
end
return result
