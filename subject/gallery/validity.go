package gallery

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// validities are the mistakes about until when a hold is good.
func validities() []Mutant {
	return []Mutant{
		faced(Mutant{
			Name: "lost-never-told", Of: "reentrant", Class: 11,
			Mistake: "Nobody tells the holder that its lease has run out.",
			Shipped: "Redisson (#4698, open since 2022), redsync, bsm/redislock, ShedLock",
		}, every(func(f *face) {
			f.lost = func() <-chan struct{} { return nil }
		})),
		active(Mutant{
			Name: "lost-only-when-server-says", Of: "reentrant", Class: 11,
			Mistake: "The holder is told that its lease has run out when the server has said so; while the server cannot be reached, nobody tells it.",
			Shipped: "node-redlock: the signal fires when extend() rejects, and a call that hangs never does",
		}, func(p Process, b *background) (func(Process) *wire, func(*face)) {
			return nil, toldLater(b, func(ctx context.Context) {
				for p.Clients[0].Exists(ctx, "any").Err() != nil && ctx.Err() == nil {
					wait(ctx, p.Lease/10)
				}
			})
		}),
		active(Mutant{
			Name: "lease-counted-from-reply", Of: "reentrant", Class: 11,
			Mistake: "The holder counts its lease from the reply to the last renewal, and not from when that was sent.",
			Shipped: "redsync's Valid() waited for the slowest node (#72), and node-redlock took the time after the votes",
		}, func(p Process, b *background) (func(Process) *wire, func(*face)) {
			var late atomic.Int64 // how long the last renewal took
			sent := func(Process) *wire {
				var at time.Time
				return &wire{
					before: func(_ context.Context, r *request) bool {
						if r.script == renewScript {
							at = time.Now() // a client has one renewal under way
						}
						return true
					},
					after: func(r *request) {
						if r.script == renewScript && r.Err() == nil {
							late.Store(int64(time.Since(at)))
						}
					},
				}
			}
			return sent, toldLater(b, func(ctx context.Context) { wait(ctx, time.Duration(late.Load())) })
		}),
		active(Mutant{
			Name: "renewal-does-not-extend-validity", Of: "reentrant", Class: 11,
			Mistake: "The lease is renewed on the server, and the holder goes by the first one.",
			Shipped: "redsync's Extend did not compute the new validity (PR #71)",
		}, func(p Process, b *background) (func(Process) *wire, func(*face)) {
			return nil, func(f *face) {
				var lost chan struct{}
				perHold(f, func(g lock.Grant) func() {
					mine := make(chan struct{})
					lost = mine
					return b.start(func(ctx context.Context) {
						if wait(ctx, g.Lease) {
							close(mine)
						}
					})
				})
				f.lost = func() <-chan struct{} { return lost }
			}
		}),
		faced(Mutant{
			Name: "wait-begins-anew-with-each-try", Of: "reentrant", Class: 11,
			Mistake: "The bound of a wait is counted from the last try and not from the first.",
			Shipped: "Redisson's waits were unbounded while Redis was down (#2790, #2801); redis-py counted them by the wall clock",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				for range 2 {
					if err != nil && !forever {
						g, err = asked(ctx, f.base, a, forever)
					}
				}
				return g, err
			}
		})),
		lateQuorum(Mutant{
			Name: "redlock-without-validity", Of: "redlock", Class: 11,
			Mistake: "A majority is a majority, however long it took: nobody looks whether the lease is still running.",
			Shipped: "the step of Redlock that ports leave out; node-redlock and redsync had it wrong before PR #71",
		}, func(time.Duration, time.Duration) time.Duration { return 0 }), // a lease of 0 never ends
		lateQuorum(Mutant{
			Name: "redlock-validity-from-reply", Of: "redlock", Class: 11,
			Mistake: "The validity of a majority is counted from the replies and not from before the requests.",
			Shipped: "redsync's Valid() (#72); redlock ports that take the time after the loop",
		}, func(lease, took time.Duration) time.Duration { return lease + took }), // which the combiner takes off again
	}
}

// toldLater tells of a loss when delay is over, which begins when the base
// tells of it.
func toldLater(b *background, delay func(ctx context.Context)) func(f *face) {
	return func(f *face) {
		var lost chan struct{}
		perHold(f, func(lock.Grant) func() {
			mine, base := make(chan struct{}), lostOf(f.base)
			lost = mine
			return b.start(func(ctx context.Context) {
				select {
				case <-base:
					delay(ctx)
					if ctx.Err() == nil {
						close(mine)
					}
				case <-ctx.Done():
				}
			})
		})
		f.lost = func() <-chan struct{} { return lost }
	}
}

// wait sleeps, and says whether it was to the end.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lateQuorum is a RedLock that waits for every member however long it takes,
// and believes the late ones. validity is the lease that a member then has got,
// of one that was asked for, and took so long to get.
func lateQuorum(m Mutant, validity func(lease, took time.Duration) time.Duration) Mutant {
	return grouped(m, func(p Process) func(f *face) {
		return func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				sent := time.Now()
				g, err := asked(context.WithoutCancel(ctx), f.base, a, forever)
				// The member itself has seen that the answer is late. It calls that
				// unknown, as it does an answer that never came.
				if errors.Is(err, lock.ErrUnknown) && strings.Contains(err.Error(), "came after the lease") {
					g, err = lock.Grant{Count: 1, Lease: p.Lease, Renewed: true}, nil
				}
				g.Lease = validity(g.Lease, time.Since(sent))
				return g, err
			}
		}
	})
}
