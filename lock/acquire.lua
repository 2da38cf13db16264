-- Takes one hold. Redisson's acquire with its branches in the same order:
-- a free lock, a lock this owner has, a busy lock.
--
-- Every request of an owner has a serial, greater than those before. The note
-- keeps the last one that changed something: 'serial:hold:what', where hold is
-- the serial of the owner's first hold, and what came of the request:
-- 'acquired', 'cancelled', or after a release how many holds are left. So a
-- request that arrives once more has no second effect, and one that arrives
-- after a later one has none at all. A note outlives its hold.
--
-- KEYS[1]  the lock, a hash: field of the owner -> hold count
-- KEYS[2]  the note of this owner
-- KEYS[3]  the last fencing token; left out when none is wanted
-- ARGV[1]  lease of this hold in ms
-- ARGV[2]  field of the owner
-- ARGV[3]  serial of this request
-- ARGV[4]  the hold that the owner knows it has; 0 makes this a first hold
-- ARGV[5]  how often the owner has it then
-- ARGV[6]  how long the note outlives the hold in ms
-- ARGV[7]  how long the last token is kept in ms; 0: for ever, as a plain
--          counter that Redisson has, too
--
-- Returns {'granted', count, token as a string, pttl}
--       | {'busy', pttl}       another owner has the lock
--       | {'gone'}             the hold that this is about is no more
--       | {'cancelled'}        the request was given up before it arrived
--       | {'stale', serial}    the server has seen a later request
local first = ARGV[4] == '0'
local pttl = redis.call('pttl', KEYS[1])
local held = false
if pttl ~= -2 then
  held = redis.call('hexists', KEYS[1], ARGV[2]) == 1
  if not held then
    if not first then
      return {'gone'}
    end
    return {'busy', pttl}
  end
end

local note = redis.call('get', KEYS[2])
local serial, hold, what = string.match(note or '', '^(%d+):(%d+):(%w+)$')
if serial and tonumber(serial) > tonumber(ARGV[3]) then
  return {'stale', serial}
end
local again = serial == ARGV[3]
if again and what == 'cancelled' then
  return {'cancelled'}
end
if held and not first and hold ~= ARGV[4] then
  return {'gone'}
end
if not held and (again or not first) then
  return {'gone'}
end

if not again then
  if first then
    -- A field that is there is left over from a hold that its owner gave up on.
    -- It still keeps everybody else out, so this is a new hold, with a new token.
    -- The token comes first: an error must come before anything is done.
    if KEYS[3] and ARGV[7] == '0' then
      redis.call('incr', KEYS[3])
    elseif KEYS[3] then
      -- The clock keeps tokens growing when the last one has expired, or was
      -- lost in a failover.
      local clock = redis.call('time')
      local last = tonumber(redis.call('get', KEYS[3]) or '0')
      local token = math.max(last + 1, clock[1] * 1000000 + clock[2])
      redis.call('set', KEYS[3], string.format('%.0f', token), 'px', ARGV[7])
    end
    hold = ARGV[3]
    redis.call('hset', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    pttl = tonumber(ARGV[1])
  else
    redis.call('hset', KEYS[1], ARGV[2], ARGV[5])
    if pttl < tonumber(ARGV[1]) then
      redis.call('pexpire', KEYS[1], ARGV[1])
      pttl = tonumber(ARGV[1])
    end
  end
  redis.call('set', KEYS[2], ARGV[3] .. ':' .. hold .. ':acquired', 'px', pttl + ARGV[6])
end
local token = '0'
if KEYS[3] then
  token = redis.call('get', KEYS[3]) or '0'
end
return {'granted', tonumber(ARGV[5]), token, pttl}
