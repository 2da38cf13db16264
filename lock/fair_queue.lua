-- What the scripts of the fair lock share; it stands before each of them.
--
-- A waiter has a place. It keeps the place by looking: each look is a lease on the
-- place. Whoever frees the lock hands it to the first place whose lease has not
-- ended, for as long as that lasts, and tells its owner. So the waiter may go in
-- without asking, but no longer than the lease that it asks for. A place is
-- 'serial:ends:lease:channel': the serial of the owner's last look, the server's time
-- in ms when the place's lease ends, that of the hold, and where to tell the owner.
--
-- KEYS[1]  the lock, a hash as Redisson's: field of the owner -> 1
-- KEYS[2]  the channel of the lock, for waiters who are not in the queue
-- KEYS[3]  the queue, a sorted set: field of the owner -> number
-- KEYS[4]  the places, a hash: field of the owner -> place
-- KEYS[5]  the last fencing token
-- ARGV[1]  unlock message
-- ARGV[2]  what the notes of owners begin with, before the field; see acquire.lua
-- ARGV[3]  how long a note outlives the hold in ms
-- ARGV[4]  how long the last token is kept in ms
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function mint()
  local last = tonumber(redis.call('get', KEYS[5]) or '0')
  local token = string.format('%.0f', math.max(last + 1, clock[1] * 1000000 + clock[2]))
  redis.call('set', KEYS[5], token, 'px', ARGV[4])
  return token
end

-- parse returns serial, hold and outcome of a note.
local function parse(note)
  return string.match(note or '', '^(%d+):(%d+):(%w+)$')
end

-- next_place returns the owner of the first living place, its serial, how long the
-- owner may have the lock, and its channel. Places before it are dropped.
local function next_place()
  while true do
    local first = redis.call('zrange', KEYS[3], 0, 0)[1]
    if not first then
      return nil
    end
    local serial, ends, lease, channel = string.match(redis.call('hget', KEYS[4], first) or '', '^(%d+):(%d+):(%d+):(.*)$')
    if serial and tonumber(ends) > now then
      return first, serial, math.min(ends - now, lease), channel
    end
    redis.call('zrem', KEYS[3], first)
    redis.call('hdel', KEYS[4], first)
  end
end

-- hand_on gives a free lock to the first living place, unless that is the owner
-- who asks. It returns the new owner, or false when there is no other.
local function hand_on(asks)
  local first, serial, left, channel = next_place()
  if not first or first == asks then
    return false
  end
  local token = mint()
  redis.call('zrem', KEYS[3], first)
  redis.call('hdel', KEYS[4], first)
  redis.call('hset', KEYS[1], first, 1)
  redis.call('pexpire', KEYS[1], left)
  redis.call('set', ARGV[2] .. first, serial .. ':' .. serial .. ':acquired', 'px', left + ARGV[3])
  redis.call('publish', channel, serial .. ':' .. token .. ':' .. first)
  return first
end

-- free takes the lock from its owner, and hands it on. It returns the new owner, if any.
local function free(field)
  redis.call('hdel', KEYS[1], field)
  local to = hand_on()
  if not to then
    redis.call('publish', KEYS[2], ARGV[1])
  end
  return to
end

