package gallery

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// validities are the mistakes about until when a hold is good.
var validities = openings{
	"lost-never-told": faced(func(f *face) {
		f.lost = func() <-chan struct{} { return nil }
	}),
	"lost-only-when-server-says": active(func(p Process, b *background) (func(Process) *wire, func(*face)) {
		return nil, toldLater(b, func(ctx context.Context) {
			for p.Clients[0].Exists(ctx, "any").Err() != nil && ctx.Err() == nil {
				wait(ctx, p.Lease/10)
			}
		})
	}),
	"lease-counted-from-reply": active(func(p Process, b *background) (func(Process) *wire, func(*face)) {
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
	"renewal-does-not-extend-validity": active(func(p Process, b *background) (func(Process) *wire, func(*face)) {
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
	"wait-begins-anew-with-each-try": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			g, err := asked(ctx, f.base, a, forever)
			for range 2 {
				if err != nil && !forever {
					g, err = asked(ctx, f.base, a, forever)
				}
			}
			return g, err
		}
	}),
	"redlock-without-validity":    lateQuorum(func(time.Duration, time.Duration) time.Duration { return 0 }),         // a lease of 0 never ends
	"redlock-validity-from-reply": lateQuorum(func(lease, took time.Duration) time.Duration { return lease + took }), // which the combiner takes off again
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

// lateQuorum is a RedLock of set-px-lua that waits for every member however long it takes,
// and believes the late ones. validity is the lease that a member then has got, of one
// that was asked for, and took so long to get.
func lateQuorum(validity func(lease, took time.Duration) time.Duration) opening {
	return func(p Process) (Locks, error) {
		return combined{p: p, member: func(i int, name, thread string) lock.Locker {
			of := p
			of.Clients = p.Clients[i : i+1]
			base := smallLocks{of, func(*small) {}}.Locker(name, thread)
			return &face{base: base, acquire: func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				sent := time.Now()
				g, err := asked(context.WithoutCancel(ctx), base, a, forever)
				g.Lease = validity(g.Lease, time.Since(sent))
				return g, err
			}}
		}}, nil
	}
}
