package gallery

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// errNotSent is the error of a renewal that a mutant does not send.
var errNotSent = errors.New("gallery: not sent")

// renewals are the mistakes of watchdogs: those that die too early.
func renewals() []Mutant {
	return []Mutant{
		wired(Mutant{
			Name: "renewal-stops-after-one-error", Of: "reentrant", Class: 4,
			Mistake: "A renewal that fails is the last one: the watchdog does not come back.",
			Shipped: "Redisson until 3.44 (#775, #2515, #3194, #5698); me-cs/goRedisson; ShedLock's KeepAlive, as the JDK cancels a task that throws",
		}, func(Process) *wire {
			var dead atomic.Bool
			return &wire{
				before: func(_ context.Context, r *request) bool {
					return r.script != renewScript || !dead.Load() || r.fail(errNotSent)
				},
				after: func(r *request) {
					if r.script == renewScript && failed(r) {
						dead.Store(true)
					}
				},
			}
		}),
		wired(Mutant{
			Name: "later-holds-not-renewed", Of: "reentrant", Class: 4,
			Mistake: "A renewal that fails leaves its entry in the watchdog's map: this hold is tried again, later ones of the same lock are never renewed.",
			Shipped: "Redisson before 3.14 (#775, #2515, #3194)",
		}, func(Process) *wire {
			var stale, dead atomic.Bool
			return &wire{
				before: func(_ context.Context, r *request) bool {
					return r.script != renewScript || !dead.Load() || r.fail(errNotSent)
				},
				after: func(r *request) {
					switch {
					case r.script == renewScript && failed(r):
						stale.Store(true)
					case r.is(acquireScript, "granted") && stale.Load():
						dead.Store(true)
					}
				},
			}
		}),
		active(Mutant{
			Name: "renewal-dies-with-callers-context", Of: "reentrant", Class: 4,
			Mistake: "The watchdog runs on the context of the acquire, and that of a request ends before the work does.",
			Shipped: "jefferyjob/go-redislock: the lock was silently gone one lease later",
		}, func(Process, *background) (func(Process) *wire, func(*face)) {
			var caller atomic.Pointer[context.Context]
			return func(Process) *wire {
					return &wire{before: func(_ context.Context, r *request) bool {
						ctx := caller.Load()
						return r.script != renewScript || ctx == nil || (*ctx).Err() == nil || r.fail((*ctx).Err())
					}}
				}, func(f *face) {
					f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
						g, err := asked(ctx, f.base, a, forever)
						if err == nil {
							caller.Store(&ctx)
						}
						return g, err
					}
				}
		}),
		wired(Mutant{
			Name: "renewal-needs-cached-script", Of: "reentrant", Class: 4,
			Mistake: "The watchdog sends its script by hash only: when the server has forgotten it, every renewal fails.",
			Shipped: "Redisson before 3.48 let NOSCRIPT surface after a failover",
		}, func(Process) *wire {
			var loaded atomic.Bool
			return &wire{before: func(_ context.Context, r *request) bool {
				return r.script != renewScript || r.Name() != "eval" || !loaded.Swap(true) || r.fail(redis.ErrNoScript)
			}}
		}),
		wired(Mutant{
			Name: "renewal-every-full-lease", Of: "reentrant", Class: 9,
			Mistake: "The watchdog renews once per lease and not three times: two of three renewals are left out.",
			Shipped: "a mistake of configuration; rueidislock and ShedLock renew at half of the validity, and have one try",
		}, func(Process) *wire {
			var mu sync.Mutex
			n := 0
			return &wire{before: func(_ context.Context, r *request) bool {
				if r.script != renewScript {
					return true
				}
				mu.Lock()
				defer mu.Unlock()
				n++
				return n%3 == 0 || r.answer(renewedAll(r))
			}}
		}),
	}
}

// failed says that a renewal was not carried out, for another reason than a
// script that the server does not know.
func failed(r *request) bool { return r.Err() != nil && !redis.HasErrorPrefix(r.Err(), "NOSCRIPT") }

// renewedAll is the answer of a server that renewed all of a batch.
func renewedAll(r *request) []any {
	all := make([]any, r.keys/2)
	for i := range all {
		all[i] = int64(1)
	}
	return all
}

// renewed is where renew.lua looks for the hold.
const renewed = "  if hold == ARGV[4 * i] and redis.pcall('hexists', key, field) == 1 then"

// survivors are the mistakes of watchdogs that live too long.
func survivors() []Mutant {
	return []Mutant{
		haunted(Mutant{
			Name: "renewal-survives-failed-release", Of: "reentrant", Class: 5,
			Mistake: "An unlock that fails with an error leaves the watchdog running: the lock is taken for ever.",
			Shipped: "Redisson before 3.8.1 (#1602)",
		}, func(r *request) (begins, ends bool) {
			return r.script == releaseScript && failed(r), r.is(releaseScript, "released")
		}, nil),
		haunted(Mutant{
			Name: "renewal-outlives-cancelled-acquire", Of: "reentrant", Class: 5,
			Mistake: "The renewal is scheduled by the reply to the acquire and cancelled by the caller who gave up, in no order: the cancelled acquire is renewed for ever.",
			Shipped: "Redisson 4 (#7272): lockInterruptibly, interrupted, and unlock in finally",
		}, func(r *request) (begins, ends bool) {
			return r.script == cancelScript, false
		}, dropCancel),
		edited(Mutant{
			Name: "renewal-revives-lock", Of: "reentrant", Class: 5,
			Mistake: "A renewal that finds the lock free takes it again, and its owner never learns that others were in between.",
			Shipped: "redsync WithSetNXOnExtend (#149); redlock-rb lock(extend:) (#36)",
		}, edit{renewScript, renewed, "  if redis.call('exists', key) == 0 then\n" +
			"    redis.call('hset', key, field, 1)\n" +
			"    redis.call('pexpire', key, lease)\n" +
			"  end\n" + renewed}),
		edited(Mutant{
			Name: "renewal-ignores-answer", Of: "reentrant", Class: 5,
			Mistake: "Whatever a renewal answers counts as renewed: a lock that is gone is renewed for ever, and its owner is not told.",
			Shipped: "Redisson 3.10.5 rescheduled whatever the answer was (#2037); redsync read 0 as true (PR #61)",
		}, edit{renewScript, "result[i] = 0\n", "result[i] = 1\n"}),
		closesLate(Mutant{
			Name: "renewal-survives-close", Of: "reentrant", Class: 5,
			Mistake: "Close returns at once and leaves the watchdog and the waiters running.",
			Shipped: "rueidislock could not be closed while somebody waited (#602); redis-semaphore and others have no close at all",
		}),
	}
}

// haunted is a base whose holds are renewed by a ghost: from an answer with
// which it begins, to one with which it ends, or to the end of the process.
// That is only seen where the hold is still there. under is what the wire does
// besides.
func haunted(m Mutant, turns func(r *request) (begins, ends bool), under func(Process) *wire) Mutant {
	return active(m, func(p Process, b *background) (func(Process) *wire, func(*face)) {
		return func(p Process) *wire {
			w := &wire{}
			if under != nil {
				w = under(p)
			}
			var mu sync.Mutex
			ghosts := map[string]context.CancelFunc{}
			look := func(r *request) {
				begins, ends := turns(r)
				if !begins && !ends {
					return
				}
				key, field := r.key(1), r.arg(2).(string)
				mu.Lock()
				defer mu.Unlock()
				if stop := ghosts[field]; stop != nil {
					stop()
					delete(ghosts, field)
				}
				if begins {
					ghosts[field] = b.start(func(ctx context.Context) { haunt(ctx, p, key, field) })
				}
			}
			w.after = look
			if before := w.before; before != nil {
				w.before = func(ctx context.Context, r *request) bool {
					if before(ctx, r) {
						return true
					}
					look(r)
					return false
				}
			}
			return w
		}, nil
	})
}

// haunt renews the hold of a field three times per lease.
func haunt(ctx context.Context, p Process, key, field string) {
	const renew = `if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`
	for every := time.NewTicker(p.Lease / 3); ; {
		select {
		case <-every.C:
			_ = p.Clients[0].Eval(ctx, renew, []string{key}, field, p.Lease.Milliseconds()).Err() // a ghost minds no error
		case <-ctx.Done():
			every.Stop()
			return
		}
	}
}

// closesLate is a base that ends two leases after it was closed.
func closesLate(m Mutant) Mutant {
	m.open = func(p Process) (Locks, error) {
		base, err := p.Base(p.Clients)
		return lateClose{base, 2 * p.Lease}, err
	}
	return m
}

type lateClose struct {
	Locks
	after time.Duration
}

// Close implements [Locks].
func (l lateClose) Close() error {
	time.AfterFunc(l.after, func() { _ = l.Locks.Close() })
	return nil
}
