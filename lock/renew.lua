-- Renews many locks in one call. A lease is never shortened. See acquire.lua
-- for notes and serials.
--
-- KEYS[2i - 1]   a lock
-- KEYS[2i]       the note of its owner
-- ARGV[1]        how long a note outlives its hold in ms
-- ARGV[4i - 2]   field of the owner
-- ARGV[4i - 1]   serial of the owner's last request before this one
-- ARGV[4i]       the hold
-- ARGV[4i + 1]   lease in ms
--
-- Returns one number per lock: 1 renewed, 0 this owner has no such hold,
-- 2 a later request of the owner has come before
local result = {}
for i = 1, #KEYS / 2 do
  result[i] = 0
  local key, field, lease = KEYS[2 * i - 1], ARGV[4 * i - 2], tonumber(ARGV[4 * i + 1])
  -- A key of another type is nobody's hold, and must not fail the others.
  local note = redis.pcall('get', KEYS[2 * i])
  local serial, hold = string.match(type(note) == 'string' and note or '', '^(%d+):(%d+):%w+$')
  if hold == ARGV[4 * i] and redis.pcall('hexists', key, field) == 1 then
    if tonumber(serial) > tonumber(ARGV[4 * i - 1]) then
      result[i] = 2
    else
      if redis.call('pttl', key) < lease then
        redis.call('pexpire', key, lease)
        redis.call('pexpire', KEYS[2 * i], lease + ARGV[1])
      end
      result[i] = 1
    end
  end
end
return result
