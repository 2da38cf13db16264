-- mint returns the next fencing token as a string. It is the server's time in
-- microseconds, or one more than the last token, if that is greater. So tokens grow even
-- after the last one has expired, or was lost in a failover. The server keeps the last
-- token for retention ms; 0 counts for ever, as Redisson does.
local function mint(key, retention)
  if retention == '0' then
    return string.format('%.0f', redis.call('incr', key))
  end
  local clock = redis.call('time')
  local last = tonumber(redis.call('get', key) or '0')
  local token = string.format('%.0f', math.max(last + 1, clock[1] * 1000000 + clock[2]))
  redis.call('set', key, token, 'px', retention)
  return token
end

