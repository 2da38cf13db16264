-- Frees a lock of any owner, and tells the waiters. A key that is no lock is an error,
-- and stays.
--
-- KEYS[1]  the lock
-- ARGV[1]  channel of the lock
-- ARGV[2]  unlock message
--
-- Returns 1 when there was a lock to free, else 0
if redis.call('hlen', KEYS[1]) > 0 then
  redis.call('del', KEYS[1])
  publish(ARGV[1], ARGV[2])
  return 1
end
return 0
