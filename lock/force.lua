-- Frees a lock whoever holds it, and tells the waiters.
--
-- KEYS[1]  the lock
-- KEYS[2]  the channel of the lock
-- ARGV[1]  unlock message
--
-- A key that is no lock is an error, and stays.
--
-- Returns 1 when there was a lock to free, else 0
if redis.call('hlen', KEYS[1]) > 0 then
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[2], ARGV[1])
  return 1
end
return 0
