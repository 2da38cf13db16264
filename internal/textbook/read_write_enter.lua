-- KEYS[1] the lock: its mode, and each hold with the end of its lease; ARGV[1] a hold,
-- ARGV[2] its lease in ms, ARGV[3] its mode, ARGV[4] how its owner's holds of the other mode
-- begin, which are not in its way. Returns 1 for a grant, also when asked again.
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local fields, others, own = redis.call('hgetall', KEYS[1]), false, false
for i = 1, #fields, 2 do
  if fields[i] == ARGV[1] then
    return 1
  elseif fields[i] ~= 'mode' then
    if tonumber(fields[i + 1]) > now then
      if string.find(fields[i], ARGV[4], 1, true) == 1 then
        own = true
      else
        others = true
      end
    else
      redis.call('hdel', KEYS[1], fields[i])
      if string.find(fields[i], '#write') then
        redis.call('hset', KEYS[1], 'mode', 'read')
      end
    end
  end
end
if others and (ARGV[3] == 'write' or redis.call('hget', KEYS[1], 'mode') == 'write') then
  return 0
end
redis.call('hset', KEYS[1], 'mode', ARGV[3], ARGV[1], now + ARGV[2])
if own then
  redis.call('hset', KEYS[1], 'mode', 'write')
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
