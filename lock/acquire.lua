-- Takes one hold. Redisson's acquire with its branches in the same order: a free lock, a
-- lock this owner has, a busy lock. The package documentation explains serials, holds
-- and notes.
--
-- KEYS[1]  the lock, a hash: field of the owner -> hold count, 'hold' -> serial of the
--          acquire that began the hold, 'last' -> serial of the last request
-- KEYS[2]  the note of this owner; left out while a slot migrates. This and what follows
--          are for a first hold
-- KEYS[3]  the last fencing token; left out when none is wanted
-- ARGV[1]  field of the owner
-- ARGV[2]  serial of this request
-- ARGV[3]  the hold that the owner knows it has; 0 makes this a first hold
-- ARGV[4]  how often the owner has it then
-- ARGV[5]  lease in ms; it never shortens that of a hold
-- ARGV[6]  how long the last token is kept in ms; see token.lua
--
-- Returns {'granted', hold, token}
--       | {'busy', pttl}       another owner has the lock
--       | {'gone'}             the hold that this is about is no more
--       | {'stale', serial}    the server has seen a later request
local first = ARGV[3] == '0'
local held = redis.call('hmget', KEYS[1], ARGV[1], 'hold', 'last')
if not held[1] then
  local pttl = redis.call('pttl', KEYS[1])
  if not first then
    return {'gone'}
  elseif pttl ~= -2 then
    return {'busy', pttl}
  end
  local note = KEYS[2] and redis.call('get', KEYS[2])
  if note and tonumber(note) > tonumber(ARGV[2]) then
    return {'stale', note}
  end
elseif held[3] and tonumber(held[3]) > tonumber(ARGV[2]) then
  return {'stale', held[3]}
elseif not first and held[2] ~= ARGV[3] then
  return {'gone'}
end

if held[3] == ARGV[2] then -- this request once more
  return {'granted', held[2], KEYS[3] and redis.call('get', KEYS[3]) or '0'}
elseif not first then
  redis.call('hset', KEYS[1], ARGV[1], ARGV[4], 'last', ARGV[2])
  if redis.call('pttl', KEYS[1]) < tonumber(ARGV[5]) then
    redis.call('pexpire', KEYS[1], ARGV[5])
  end
  return {'granted', held[2], '0'}
end
-- A field that is there is left over from a hold that its owner gave up on. It still
-- keeps all others out, so this is a new hold, with a new token.
local token = KEYS[3] and mint(KEYS[3], ARGV[6]) or '0'
redis.call('hset', KEYS[1], ARGV[1], 1, 'hold', ARGV[2], 'last', ARGV[2])
local expires = redis.pcall('pexpire', KEYS[1], ARGV[5])
if type(expires) == 'table' then -- without the right to it, the lock would stay for ever
  redis.call('del', KEYS[1])
  return expires
end
return {'granted', ARGV[2], token}
