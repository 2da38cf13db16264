package gallery

import (
	"context"
	"time"
)

// FairQueue is the lock that the mutants about fairness are variants of. It is
// right: SET NX PX with the owner's value, compare and delete, as set-px-lua,
// and a queue besides. No lock of package lock grants in the order of arrival,
// so this one is here to hold the judge of fairness against.
const FairQueue = "fair-queue"

// FairPatience is how long a waiter keeps its place without asking again: for
// a second, and for three times as long as it goes without looking.
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

// fairQuit takes an owner out of the queue.
const fairQuit = `redis.call('hdel', KEYS[1], ARGV[1]) return redis.call('hdel', KEYS[2], ARGV[1])`

// OpenFairQueue opens the lock [FairQueue] in one client process.
func OpenFairQueue(p Process) (Locks, error) { return fairLocks(p, fairTake), nil }

// fairLocks are fair locks that run take.
func fairLocks(p Process, take string) smallLocks {
	return smallLocks{p, func(s *small) {
		queue, patience := "{"+s.name+"}:queue", "{"+s.name+"}:patience"
		s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
			n, err := s.rdb.Eval(ctx, take, []string{s.name, queue, patience}, s.owner, lease.Milliseconds(), FairPatience(p.Poll).Milliseconds()).Int()
			return n == 1, err
		}
		s.quit = func(s *small) {
			// Who cannot say goodbye loses the place when the patience is over.
			_ = s.rdb.Eval(context.Background(), fairQuit, []string{queue, patience}, s.owner).Err()
		}
	}}
}

// unfair are the mistakes of fair locks.
func unfair() []Mutant {
	return []Mutant{
		queued(Mutant{
			Name: "newcomer-overtakes", Of: FairQueue, Class: 8,
			Mistake: "Who finds the lock free takes it, without a look at the queue.",
			Shipped: "fair locks whose first try is that of the plain lock; Redisson's FairLock evicted waiters that were alive (#3004), with the same effect",
		}, "and (not first or first == ARGV[1])", ""),
		queued(Mutant{
			Name: "last-come-first-served", Of: FairQueue, Class: 8,
			Mistake: "The queue is read from its end.",
			Shipped: "no library we know of; LPUSH with LPOP, or RPUSH with RPOP, makes a stack",
		}, "t < came", "t > came"),
		queued(Mutant{
			Name: "patience-is-not-renewed", Of: FairQueue, Class: 8,
			Mistake: "A waiter's patience counts from when it came and not from when it last asked: who waits long loses its place.",
			Shipped: "Redisson's FairLock: a live waiter older than threadWaitTime was evicted (#3004)",
		}, "redis.call('hset', KEYS[3]", "redis.call('hsetnx', KEYS[3]"),
		queued(Mutant{
			Name: "queue-by-the-second", Of: FairQueue, Class: 9,
			Mistake: "The time of arrival is kept in whole seconds, and within one the order is that of the names.",
			Shipped: "jefferyjob/go-redislock's fair lock before 1.1.4 (#44)",
		}, "redis.call('hsetnx', KEYS[2], ARGV[1], string.format('%.0f', now))", "redis.call('hsetnx', KEYS[2], ARGV[1], clock[1])"),
		queued(Mutant{
			Name: "dead-waiter-keeps-place", Of: FairQueue, Class: 10,
			Mistake: "A waiter that died stays the first of the queue, and nobody gets the lock any more.",
			Shipped: "Redisson's FairLock: one dead waiter blocked all (#1104, #2099, #2883)",
		}, "if tonumber(places[i + 1]) <= now then", "if false then"),
	}
}

// queued is a fair lock with a piece of its script replaced.
func queued(m Mutant, old, by string) Mutant {
	take := edit{FairQueue, old, by}.apply(fairTake)
	m.open = func(p Process) (Locks, error) { return fairLocks(p, take), nil }
	return m
}
