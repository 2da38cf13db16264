package gallery

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/lock"
)

// nestedCount is how acquire.lua counts a hold within holds, innerCount how
// release.lua does.
const (
	nestedCount = "redis.call('hset', KEYS[1], ARGV[2], ARGV[5])"
	innerCount  = "redis.call('hset', KEYS[1], ARGV[2], count)"
)

// counting are the mistakes about holds within holds.
func counting() []Mutant {
	const (
		shorter = "if pttl < tonumber(ARGV[1]) then"
		owed    = "if lasts < 0 or lasts > tonumber(ARGV[6]) then\n    redis.call('pexpire', KEYS[1], ARGV[6])"
	)
	return []Mutant{
		wired(Mutant{
			Name: "inner-release-stops-renewal", Of: "reentrant", Class: 6,
			Mistake: "Every unlock takes the lock off the watchdog, also that of an inner hold: the outer one is not renewed any more.",
			Shipped: "Redisson counts renewals apart from holds to this day; jefferyjob/go-redislock loses the renewer of the outer hold",
		}, func(Process) *wire {
			var off atomic.Bool
			return &wire{
				before: func(_ context.Context, r *request) bool {
					return r.script != renewScript || !off.Load() || r.answer(renewedAll(r))
				},
				after: func(r *request) {
					if r.is(releaseScript, "released") || r.is(acquireScript, "granted") {
						off.Store(r.script == releaseScript)
					}
				},
			}
		}),
		edited(Mutant{
			Name: "inner-release-frees-lock", Of: "reentrant", Class: 6,
			Mistake: "The release of an inner hold deletes the lock, whatever the count says.",
			Shipped: "locks with an owner but without a count (bsm/redislock #71: obtaining again with the same token)",
		}, edit{releaseScript, "if count > 0 and tonumber(ARGV[6]) > 0 then", "if false then"}),
		edited(Mutant{
			Name: "nested-acquire-counts-two", Of: "reentrant", Class: 6,
			Mistake: "The hash is incremented twice for one nested acquire.",
			Shipped: "Redisson 3.52 when it sends an acquire again (#7367); its unlock retries count down twice",
		}, edit{acquireScript, nestedCount, "redis.call('hincrby', KEYS[1], ARGV[2], 2)"}),
		edited(Mutant{
			Name: "nested-acquire-shortens-lease", Of: "reentrant", Class: 6,
			Mistake: "A nested acquire sets the expiry to its own lease, also when the outer hold is owed more.",
			Shipped: "Redisson to this day: lock(), then lock(1, SECONDS), and the lock has a second left",
		}, edit{acquireScript, shorter, "do"}),
		edited(Mutant{
			Name: "inner-release-sets-default-lease", Of: "reentrant", Class: 6,
			Mistake: "The release of an inner hold sets the expiry to the library's default of 30 s, whatever was asked for.",
			Shipped: "Redisson's partial unlock expires to internalLockLeaseTime",
		}, edit{releaseScript, owed, "do\n    redis.call('pexpire', KEYS[1], 30000)"}),
		edited(Mutant{
			Name: "inner-release-sets-own-lease", Of: "reentrant", Class: 6,
			Mistake: "The release of an inner hold leaves half of what the outer ones are owed.",
			Shipped: "Redisson, where leases are mixed: an unlock expires to whatever lease was asked for last",
		}, edit{releaseScript, owed, "do\n    redis.call('pexpire', KEYS[1], math.floor(tonumber(ARGV[6]) / 2))"}),
		wired(Mutant{
			Name: "renewal-shortens-longer-lease", Of: "reentrant", Class: 6,
			Mistake: "A renewal sets the expiry to the watchdog's lease, also when an inner hold is owed more.",
			Shipped: "Redisson, where lock() and lock(10, SECONDS) are mixed",
		}, func(p Process) *wire {
			return &wire{
				edits: []edit{{renewScript, "if redis.call('pttl', key) < lease then", "do"}},
				before: func(_ context.Context, r *request) bool {
					if r.script == renewScript {
						for i := range r.keys / 2 {
							r.setArg(4*i+5, p.Lease.Milliseconds())
						}
					}
					return true
				},
			}
		}),
		faced(Mutant{
			Name: "unlock-returns-count-before", Of: "reentrant", Class: 6,
			Mistake: "Unlock returns how many holds there were, not how many are left.",
			Shipped: "ports that return what HGET said before the decrement; Curator and others count locally and let the two drift",
		}, every(func(f *face) {
			f.unlock = func(ctx context.Context) (int, error) {
				n, err := f.base.Unlock(ctx)
				if err == nil {
					n++
				}
				return n, err
			}
		})),
		active(Mutant{
			Name: "renewer-per-acquire", Of: "reentrant", Class: 6,
			Mistake: "Every acquire starts a goroutine and forgets the one before it: of N nested holds, N-1 are never ended.",
			Shipped: "jefferyjob/go-redislock",
		}, func(p Process, b *background) (func(Process) *wire, func(*face)) {
			return nil, func(f *face) {
				var quit chan struct{}
				f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
					g, err := asked(ctx, f.base, a, forever)
					if err == nil {
						mine := make(chan struct{})
						quit = mine // and the one before is lost
						go func() { <-mine }()
					}
					return g, err
				}
				f.unlock = func(ctx context.Context) (int, error) {
					if quit != nil {
						close(quit)
						quit = nil
					}
					return f.base.Unlock(ctx)
				}
			}
		}),
	}
}

// shared are the mistakes of state that is kept where others find it.
func shared() []Mutant {
	return []Mutant{
		faced(Mutant{
			Name: "lease-sticks-to-lock", Of: "reentrant", Class: 7,
			Mistake: "The lease of one acquire is stored in the lock, and later acquires that ask for none get it and are not renewed.",
			Shipped: "Redisson before 3.15.2, and its spin lock to this day: internalLockLeaseTime = unit.toMillis(leaseTime)",
		}, every(func(f *face) {
			var last lock.Acquire
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				if a.Lease > 0 {
					last.Lease = a.Lease
				}
				a.Lease = last.Lease
				return asked(ctx, f.base, a, forever)
			}
		})),
		with(Mutant{
			Name: "processes-share-one-id", Of: "reentrant", Class: 7,
			Mistake: "The owner is made of the thread and an id that all processes have in common, such as the name of the service.",
			Shipped: "redis-py and redsync users who set the value themselves (redis-py #656, redsync #62); ports that use a goroutine's id alone",
		}, lock.WithID("service")),
		faced(Mutant{
			Name: "token-cached-in-lock", Of: "fenced", Class: 7,
			Mistake: "The fencing token is kept on the lock object, and later holds get the first one again.",
			Shipped: "redis-py kept its token on the object that threads share (#1091); a fencing token kept like that is worse",
		}, every(func(f *face) {
			var first uint64
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				if first == 0 {
					first = g.Token
				}
				g.Token = first
				return g, err
			}
		})),
		minted(),
		edited(Mutant{
			Name: "token-dies-with-lock", Of: "fenced", Class: 7,
			Mistake: "The token counter is a field of the lock itself, so it starts from 1 with every hold.",
			Shipped: "no library we know of; Redisson keeps the counter for ever for this reason (#6510)",
		}, edit{acquireScript, "redis.call('set', KEYS[3], string.format('%.0f', token), 'px', ARGV[7])", "redis.call('hincrby', KEYS[1], 'token', 1)"},
			edit{acquireScript, "token = redis.call('get', KEYS[3])", "token = redis.call('hget', KEYS[1], 'token')"},
			edit{releaseScript, "redis.call('hdel', KEYS[1], ARGV[2])", "redis.call('del', KEYS[1])"}),
		edited(Mutant{
			Name: "token-does-not-grow", Of: "fenced", Class: 7,
			Mistake: "The counter is set when it is missing and never incremented: all holds have token 1.",
			Shipped: "no library we know of; a random or constant lock value used as a fencing token is as common in tutorials",
		}, edit{acquireScript, "string.format('%.0f', token)", "1"}),
		edited(Mutant{
			Name: "token-is-a-counter", Of: "fenced", Class: 7,
			Mistake: "The fencing token is a counter in the Redis that also holds the lock, and nothing else: a failover takes it back.",
			Shipped: "Redisson's RFencedLock; advice on fencing with INCR",
		}, edit{acquireScript, "math.max(last + 1, clock[1] * 1000000 + clock[2])", "last + 1"}),
		faced(Mutant{
			Name: "lost-signal-of-first-hold", Of: "reentrant", Class: 7,
			Mistake: "The channel that tells of a loss is made once for the lock: after one loss every later hold is told at once that it is lost.",
			Shipped: "Redisson kept entries of lost holds in the watchdog's map (#1966, #2037)",
		}, every(func(f *face) {
			var first <-chan struct{}
			f.lost = func() <-chan struct{} {
				if first == nil {
					first = lostOf(f.base)
				}
				return first
			}
		})),
	}
}

// minted mints a token for every acquire, and hands out the newest.
func minted() Mutant {
	m := Mutant{
		Name: "token-minted-on-each-acquire", Of: "fenced", Class: 7,
		Mistake: "A nested acquire gets a new token, and the resource then refuses what the outer hold still has to write.",
		Shipped: "Redisson's RFencedLock increments on every acquire, reentrant ones included (#4684)",
	}
	edits := []edit{{acquireScript, nestedCount, nestedCount + "\n" +
		"    if KEYS[3] then redis.call('incr', KEYS[3]) end"}}
	m.edits = edits
	return active(m, func(Process, *background) (func(Process) *wire, func(*face)) {
		var mu sync.Mutex
		var newest uint64 // of this process, which has one thread at a time
		wires := func(Process) *wire {
			return &wire{edits: edits, after: func(r *request) {
				if r.is(acquireScript, "granted") {
					text, _ := r.reply()[2].(string)
					token, err := strconv.ParseUint(text, 10, 64)
					if err != nil {
						return // the lock itself refuses such an answer
					}
					mu.Lock()
					newest = token
					mu.Unlock()
				}
			}}
		}
		return wires, func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				if err == nil {
					mu.Lock()
					g.Token = newest
					mu.Unlock()
				}
				return g, err
			}
		}
	})
}
