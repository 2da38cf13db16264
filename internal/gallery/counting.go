package gallery

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/holdfast-go/holdfast/lock"
)

// counting are the mistakes about holds within holds.
var counting = openings{
	"inner-release-stops-renewal": wired(func(Process) *wire {
		var off atomic.Bool
		return &wire{
			before: func(_ context.Context, r *request) bool {
				return r.script != renewScript || !off.Load() || r.answer(int64(1))
			},
			after: func(r *request) {
				if r.released() || r.is(acquireScript, "granted") {
					off.Store(r.script == releaseScript)
				}
			},
		}
	}),
	"renewal-shortens-longer-lease": wired(func(p Process) *wire {
		return &wire{
			edits: p.edits,
			before: func(_ context.Context, r *request) bool {
				if r.script == renewScript {
					r.setArg(3, p.Lease.Milliseconds())
				}
				return true
			},
		}
	}),
	"unlock-returns-count-before": releasing(func(n int, err error) (int, error) {
		if err == nil {
			n++
		}
		return n, err
	}),
	"renewer-per-acquire": active(func(p Process, b *background) (func(Process) *wire, func(*face)) {
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

// shared are the mistakes of state that is kept where others find it.
var shared = openings{
	"lease-sticks-to-lock": faced(func(f *face) {
		var last lock.Acquire
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			if a.Lease > 0 {
				last.Lease = a.Lease
			}
			a.Lease = last.Lease
			return asked(ctx, f.base, a, forever)
		}
	}),
	"processes-share-one-id": with(lock.WithID("service")),
	"token-cached-in-lock": faced(func(f *face) {
		var first uint64
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			g, err := asked(ctx, f.base, a, forever)
			first = cmp.Or(first, g.Token)
			g.Token = first
			return g, err
		}
	}),
	"token-minted-on-each-acquire": minted(),
	"lost-signal-of-first-hold": faced(func(f *face) {
		var first <-chan struct{}
		f.lost = func() <-chan struct{} {
			if first == nil {
				first = lostOf(f.base)
			}
			return first
		}
	}),
}

// minted mints a token for every acquire, and hands out the newest.
func minted() opening {
	return active(func(p Process, _ *background) (func(Process) *wire, func(*face)) {
		var mu sync.Mutex
		var newest uint64 // of this process, which has one thread at a time
		wires := func(Process) *wire {
			return &wire{edits: p.edits, after: func(r *request) {
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
