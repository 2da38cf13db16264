package gallery

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// sentinels are the mistakes about numbers and errors that mean something
// else: units, zero, -1 and nil.
func sentinels() []Mutant {
	const first = "redis.call('hset', KEYS[1], ARGV[2], 1)\n    redis.call('pexpire', KEYS[1], ARGV[1])"
	return []Mutant{
		edited(Mutant{
			Name: "lease-times-thousand", Of: "reentrant", Class: 9,
			Mistake: "A lease in milliseconds is set as seconds.",
			Shipped: "Redisson's RedissonMultiLock.lockInterruptibly(lease, unit): milliseconds are converted once more in each round",
		}, edit{acquireScript, "redis.call('pexpire', KEYS[1], ARGV[1])", "redis.call('expire', KEYS[1], ARGV[1])"}),
		wired(Mutant{
			Name: "lease-divided-by-thousand", Of: "reentrant", Class: 9,
			Mistake: "A lease in seconds is set as milliseconds: the lock is gone after 10 ms.",
			Shipped: "Redisson before 3.25.1 scaled other units than milliseconds wrongly (#5484)",
		}, func(Process) *wire {
			return &wire{before: func(_ context.Context, r *request) bool {
				if r.script == acquireScript {
					r.setArg(1, max(r.arg(1).(int64)/1000, 1))
				}
				return true
			}}
		}),
		edited(Mutant{
			Name: "no-expiry-on-first-hold", Of: "reentrant", Class: 9,
			Mistake: "A first hold is taken without an expiry; the first renewal sets one, if its owner lives to send it.",
			Shipped: "redis-py by default: timeout=None is a lock without expiry",
		}, edit{acquireScript, first, "redis.call('hset', KEYS[1], ARGV[2], 1)"}),
		faced(Mutant{
			Name: "error-means-granted", Of: "reentrant", Class: 9,
			Mistake: "An error is returned as 0, and 0 milliseconds to wait means that the lock is taken.",
			Shipped: "cheerego/go-redisson: Lock() against a closed port returned nil",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				if err != nil && !errors.Is(err, lock.ErrBusy) {
					return lock.Grant{Count: 1, Lease: a.Lease}, nil
				}
				return g, err
			}
		})),
		faced(Mutant{
			Name: "nothing-released-means-released", Of: "reentrant", Class: 9,
			Mistake: "Unlock of a lock that is gone returns no error: the answer 0 is compared with the wrong type.",
			Shipped: "redsync (PR #61); Redisson until 3.10.6 (#2018)",
		}, every(func(f *face) {
			f.unlock = func(ctx context.Context) (int, error) {
				n, err := f.base.Unlock(ctx)
				return n, as(err, isGone, nil)
			}
		})),
		edited(Mutant{
			Name: "no-seconds-left-means-granted", Of: "reentrant", Class: 9,
			Mistake: "The holder's remaining lease is read in whole seconds, and 0 means that the lock is taken.",
			Shipped: "locks that return the remaining lease as a number and nil or 0 for granted, as Redisson and its ports do",
		}, edit{acquireScript, "return {'busy', pttl}",
			"if pttl < 1000 then return {'granted', 1, '0', tonumber(ARGV[1])} end\n" +
				"    return {'busy', pttl}"}),
		faced(Mutant{
			Name: "wait-divided-by-thousand", Of: "reentrant", Class: 9,
			Mistake: "A wait in seconds is taken for milliseconds: waiters give up at once.",
			Shipped: "Redisson before 3.25.1 scaled other units than milliseconds wrongly (#5484)",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				a.Wait /= 1000
				return asked(ctx, f.base, a, forever)
			}
		})),
		faced(Mutant{
			Name: "wait-zero-waits-for-ever", Of: "reentrant", Class: 9,
			Mistake: "A wait of 0 means no bound instead of one try.",
			Shipped: "Redisson before 2.2.17: tryLock(0) blocked in the subscription (#543); node-redlock's retryCount -1 changed its meaning (#149)",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				return asked(ctx, f.base, a, forever || a.Wait == 0)
			}
		})),
		faced(Mutant{
			Name: "multi-wait-zero-never-succeeds", Of: "multi", Class: 9,
			Mistake: "A wait of 0 leaves no time for any member, so a single try always fails.",
			Shipped: "Redisson's MultiLock before 3.17.1 (#4033, #4177)",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				if a.Wait == 0 && !forever {
					return lock.Grant{}, lock.ErrBusy
				}
				return asked(ctx, f.base, a, forever)
			}
		})),
		edited(Mutant{
			Name: "request-forgotten-at-once", Of: "reentrant", Class: 9,
			Mistake: "The note of a request lasts for timeout times retries, and with no retries configured that is nothing.",
			Shipped: "Redisson 3.24.1 to 3.24.2 (#5392)",
		}, edit{acquireScript, "'px', pttl + ARGV[6]", "'px', 1"}),
		edited(Mutant{
			Name: "request-remembered-for-hours", Of: "reentrant", Class: 9,
			Mistake: "The note of a request lasts 10,000 seconds instead of 10,000 milliseconds.",
			Shipped: "Redisson's fencing counters and latches that outlive their locks (#6510, #6844)",
		}, edit{releaseScript, "'px', lasts + ARGV[7]", "'ex', lasts + ARGV[7]"}),
		faced(Mutant{
			Name: "token-is-a-clock", Of: "fenced", Class: 9,
			Mistake: "The fencing token is the time in seconds: two holds within a second have the same.",
			Shipped: "no library we know of; advice that is often given",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				g.Token = uint64(time.Now().Unix())
				return g, err
			}
		})),
		faced(Mutant{
			Name: "no-answer-panics", Of: "reentrant", Class: 9,
			Mistake: "The answer is used before the error is looked at: a request without an answer dereferences nil.",
			Shipped: "Redisson's unlock before the timer was set (#2355); FreeRedis, whose renewal took the process down (#212)",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				if isUnknown(err) {
					panic("runtime error: invalid memory address or nil pointer dereference")
				}
				return g, err
			}
		})),
		faced(Mutant{
			Name: "expired-unlock-without-class", Of: "redlock", Class: 9,
			Mistake: "Unlock of a lock that has just expired returns an error of no documented class: no quorum.",
			Shipped: "node-redlock: unable to achieve a quorum (#65, #131, #168, #180, #362)",
		}, every(func(f *face) {
			f.unlock = func(ctx context.Context) (int, error) {
				n, err := f.base.Unlock(ctx)
				return n, as(err, isGone, errors.New("the operation was unable to achieve a quorum"))
			}
		})),
	}
}
