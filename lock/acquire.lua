-- Takes one hold. Redisson's acquire with its branches in the same order:
-- a free lock, a lock this owner has, a busy lock. A request is remembered by
-- its latch, so running it again changes nothing.
--
-- KEYS[1]  the lock, a hash: field of the owner -> hold count
-- KEYS[2]  the latch of this request
-- KEYS[3]  the fencing counter; left out when no token is wanted
-- ARGV[1]  lease of this hold in ms
-- ARGV[2]  field of the owner
-- ARGV[3]  holds that the owner knows it has; 0 makes this a first hold
-- ARGV[4]  how long the latch lasts in ms
-- ARGV[5]  how long the fencing counter is kept in ms
--
-- Returns {'granted', count, token as a string, pttl}
--       | {'busy', pttl}       another owner has the lock
--       | {'gone'}             the owner's earlier holds are no more
--       | {'cancelled'}        the request was given up before it arrived
local first = ARGV[3] == '0'

if redis.call('exists', KEYS[1]) == 0 then
  -- A free lock is the common case and a new request, too: one call finds
  -- that out and remembers it.
  if not first or not redis.call('set', KEYS[2], 'a', 'nx', 'px', ARGV[4]) then
    local latch = redis.call('get', KEYS[2])
    if latch and latch ~= 'a' then
      return {'cancelled'}
    end
    if not first then
      return {'gone'}
    end
    redis.call('set', KEYS[2], 'a', 'px', ARGV[4])
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  local token = '0'
  if KEYS[3] then
    redis.call('incr', KEYS[3])
    redis.call('pexpire', KEYS[3], ARGV[5])
    token = redis.call('get', KEYS[3])
  end
  return {'granted', 1, token, tonumber(ARGV[1])}
end

if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  if not first then
    return {'gone'}
  end
  return {'busy', redis.call('pttl', KEYS[1])}
end

local latch = redis.call('get', KEYS[2])
if latch and latch ~= 'a' then
  return {'cancelled'}
end

local token = '0'
local count
if latch then
  count = tonumber(redis.call('hget', KEYS[1], ARGV[2]))
elseif first then
  -- The field is left over from a hold that its owner gave up on. It still
  -- keeps everybody else out, so this is a new hold, with a new token.
  count = 1
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  if KEYS[3] then
    redis.call('incr', KEYS[3])
    redis.call('pexpire', KEYS[3], ARGV[5])
  end
else
  count = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('pexpire', KEYS[1], ARGV[1])
  end
end
redis.call('set', KEYS[2], 'a', 'px', ARGV[4])
if KEYS[3] then
  token = redis.call('get', KEYS[3]) or '0'
end
return {'granted', count, token, redis.call('pttl', KEYS[1])}
