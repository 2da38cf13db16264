-- Takes the lock, or a place in its queue.
--
-- ARGV[5]  field of the owner
-- ARGV[6]  serial of this request
-- ARGV[7]  serial of the owner's first request for this hold
-- ARGV[8]  lease of the hold in ms
-- ARGV[9]  lease of a place in ms; 0: the owner does not wait
-- ARGV[10] where to tell the owner that the lock was handed to it
--
-- Returns {'granted', hold, token, pttl} | {'busy', pttl} | {'gone'}
--       | {'cancelled'} | {'stale', serial}; see acquire.lua
local field = ARGV[5]
local pttl = redis.call('pttl', KEYS[1])
local held = pttl ~= -2 and redis.call('hexists', KEYS[1], field) == 1
local serial, hold, what = parse(redis.call('get', ARGV[2] .. field))
if serial and tonumber(serial) > tonumber(ARGV[6]) then
  return {'stale', serial}
end
local again = serial == ARGV[6]
if again and what == 'cancelled' then
  return {'cancelled'}
end
if again and not held then
  return {'gone'}
end

local token
if held and tonumber(hold or '0') >= tonumber(ARGV[7]) then
  -- The lock was handed to this owner, or the request comes once more.
  token = redis.call('get', KEYS[5]) or '0'
  if pttl < tonumber(ARGV[8]) then
    redis.call('pexpire', KEYS[1], ARGV[8])
    pttl = tonumber(ARGV[8])
  end
else
  -- A lock that is free with a queue was not handed on: its holder has died.
  if pttl == -2 and hand_on(field) then
    pttl = redis.call('pttl', KEYS[1])
  end
  if pttl ~= -2 then
    if ARGV[9] ~= '0' then
      local known = string.match(redis.call('hget', KEYS[4], field) or '', '^(%d+):')
      if not known or tonumber(known) < tonumber(ARGV[6]) then
        redis.call('hset', KEYS[4], field, ARGV[6] .. ':' .. string.format('%.0f', now + ARGV[9]) .. ':' .. ARGV[8] .. ':' .. ARGV[10])
      end
      if not redis.call('zscore', KEYS[3], field) then
        local last = redis.call('zrange', KEYS[3], -1, -1, 'withscores')[2] or '0'
        redis.call('zadd', KEYS[3], last + 1, field)
      end
      redis.call('pexpire', KEYS[3], 2 * ARGV[9])
      redis.call('pexpire', KEYS[4], 2 * ARGV[9])
    end
    return {'busy', pttl}
  end
  -- Free, and this owner's turn. A hold of its own that is left over, as by a failover
  -- that forgot the release, is like anybody's: another may have the lock since.
  token = mint()
  hold = ARGV[6]
  redis.call('zrem', KEYS[3], field)
  redis.call('hdel', KEYS[4], field)
  redis.call('hset', KEYS[1], field, 1)
  redis.call('pexpire', KEYS[1], ARGV[8])
  pttl = tonumber(ARGV[8])
end
redis.call('set', ARGV[2] .. field, ARGV[6] .. ':' .. hold .. ':acquired', 'px', pttl + ARGV[3])
return {'granted', tonumber(hold), token, pttl}
