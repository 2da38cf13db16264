-- Deletes the lock if the owner holds it.
-- KEYS[1]  the lock
-- ARGV[1]  the owner
-- Returns 1 if it was deleted, 0 if another owner holds it, or nobody.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
