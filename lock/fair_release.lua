-- Gives the lock back, and hands it on. See release.lua.
--
-- ARGV[5]  field of the owner
-- ARGV[6]  serial of this request
-- ARGV[7]  the hold that this is about
--
-- Returns {'released', 0} | {'none'} when the owner has no such hold
local note = ARGV[2] .. ARGV[5]
local serial, hold = parse(redis.call('get', note))
if serial == ARGV[6] then
  return {'released', 0}
end
if hold ~= ARGV[7] or tonumber(serial) > tonumber(ARGV[6]) then
  return {'none'}
end
if redis.pcall('hexists', KEYS[1], ARGV[5]) ~= 1 then
  return {'none'}
end
local to = free(ARGV[5]) -- first, as a server without memory lets a script go on that has written
if to ~= ARGV[5] then -- else the owner had a place again, and its note is that of the new hold
  redis.call('set', note, ARGV[6] .. ':' .. hold .. ':0', 'px', ARGV[3])
end
return {'released', 0}
