-- What the scripts of the fair lock share; it stands before each of them.
--
-- A waiter has a place. It keeps the place by looking: each look is a lease on the
-- place. Whoever frees the lock hands it to the first place whose lease has not
-- ended, for as long as that lasts, and tells its owner. So the waiter may go in
-- without asking, but no longer than the lease that it asks for. A place is
-- 'serial:ends:lease:channel': the serial of the owner's last look, the server's time
-- in ms when the place's lease ends, that of the hold, and where to tell the owner.
--
-- KEYS[1]  the lock, as that of acquire.lua: field of the owner -> 1, 'hold', 'last'
-- KEYS[2]  the queue, a sorted set: field of the owner -> number
-- KEYS[3]  the places, a hash: field of the owner -> place
-- KEYS[4]  the last fencing token
-- ARGV[1]  unlock message
-- ARGV[2]  the channel of the lock, for waiters who are not in the queue
-- ARGV[3]  how long the last token is kept in ms; see token.lua
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- give takes the free lock for a field, and returns the token.
local function give(field, serial, lease)
  redis.call('pexpire', KEYS[1], lease) -- without the right to it, nothing is done yet
  local token = mint(KEYS[4], ARGV[3])
  redis.call('zrem', KEYS[2], field)
  redis.call('hdel', KEYS[3], field)
  redis.call('hset', KEYS[1], field, 1, 'hold', serial, 'last', serial)
  redis.call('pexpire', KEYS[1], lease)
  return token
end

-- next_place returns the owner of the first living place, its serial, how long the
-- owner may have the lock, and its channel. Places before it are dropped.
local function next_place()
  while true do
    local first = redis.call('zrange', KEYS[2], 0, 0)[1]
    if not first then
      return nil
    end
    local serial, ends, lease, channel = string.match(redis.call('hget', KEYS[3], first) or '', '^(%d+):(%d+):(%d+):(.*)$')
    if serial and tonumber(ends) > now then
      return first, serial, math.min(ends - now, lease), channel
    end
    redis.call('zrem', KEYS[2], first)
    redis.call('hdel', KEYS[3], first)
  end
end

-- hand_on gives a free lock to the first living place, unless that is the owner
-- who asks. It returns whether there was another.
local function hand_on(asks)
  local first, serial, left, channel = next_place()
  if not first or first == asks then
    return false
  end
  local token = give(first, serial, left)
  publish(channel, serial .. ':' .. token .. ':' .. first)
  return true
end

-- keep_queue keeps queue and places for twice the lease of a place in ms, or longer if a
-- client with a longer lease has said so.
local function keep_queue(lease)
  for i = 2, 3 do
    if redis.call('pttl', KEYS[i]) < 2 * lease then
      redis.call('pexpire', KEYS[i], 2 * lease)
    end
  end
end

