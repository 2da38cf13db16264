package gallery

import (
	"context"
	"time"
)

// FairQueue is the lock that the mutants about fairness are variants of. It is
// right: SET NX PX with the owner's value, compare and delete, as set-px-lua,
// and a queue besides. Each try enters the queue or keeps a place in it, so that a
// mistake is an edit of one script.
const FairQueue = "fair-queue"

// FairPatience is the time for which a waiter keeps its place without asking again. That
// is a second, and three times the time for which it goes without looking.
func FairPatience(poll time.Duration) time.Duration { return max(time.Second, 3*poll) }

// fairTake takes the lock for its owner if the lock is free and the owner is
// the first of those who wait; else it enters the owner into the queue, where
// it stays while it asks again within its patience.
//
// KEYS[1]  the lock
// KEYS[2]  the queue, a hash: owner -> when it came
// KEYS[3]  a hash: owner -> until when it has its place
// ARGV[1]  the owner
// ARGV[2]  lease in ms
// ARGV[3]  patience in ms
const fairTake = `
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local places = redis.call('hgetall', KEYS[3])
for i = 1, #places, 2 do
  if tonumber(places[i + 1]) <= now then
    redis.call('hdel', KEYS[2], places[i])
    redis.call('hdel', KEYS[3], places[i])
  end
end
local first, came
local queue = redis.call('hgetall', KEYS[2])
for i = 1, #queue, 2 do
  local t = tonumber(queue[i + 1])
  if not first or t < came or (t == came and queue[i] < first) then
    first, came = queue[i], t
  end
end
if redis.call('exists', KEYS[1]) == 0 and (not first or first == ARGV[1]) then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  redis.call('hdel', KEYS[2], ARGV[1])
  redis.call('hdel', KEYS[3], ARGV[1])
  return 1
end
redis.call('hsetnx', KEYS[2], ARGV[1], string.format('%.0f', now))
redis.call('hset', KEYS[3], ARGV[1], string.format('%.0f', now + ARGV[3]))
redis.call('pexpire', KEYS[2], 2 * ARGV[3])
redis.call('pexpire', KEYS[3], 2 * ARGV[3])
return 0
`

const fairQuit = `redis.call('hdel', KEYS[1], ARGV[1]) return redis.call('hdel', KEYS[2], ARGV[1])`

// OpenFairQueue opens the lock [FairQueue] in one client process.
func OpenFairQueue(p Process) (Locks, error) { return fairLocks(p, fairTake, wholeName), nil }

func wholeName(name string) string { return name }

// fairLocks are fair locks that run take. The keys of a queue contain the result of queueOf.
func fairLocks(p Process, take string, queueOf func(name string) string) smallLocks {
	return smallLocks{p, func(s *small) {
		queue, patience := "{"+queueOf(s.name)+"}:queue", "{"+queueOf(s.name)+"}:patience"
		s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
			n, err := s.rdb.Eval(ctx, take, []string{s.name, queue, patience}, s.owner, lease.Milliseconds(), FairPatience(p.Poll).Milliseconds()).Int()
			return n == 1, err
		}
		s.quit = func(s *small) {
			// An owner that cannot say goodbye loses the place when the patience is over.
			_ = s.rdb.Eval(context.Background(), fairQuit, []string{queue, patience}, s.owner).Err()
		}
	}}
}

func queued(p Process) (Locks, error) {
	take := fairTake
	for _, e := range p.edits {
		take = e.apply(take)
	}
	return fairLocks(p, take, wholeName), nil
}
