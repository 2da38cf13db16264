package gallery

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// errNotSent is the error of a renewal that a mutant does not send.
var errNotSent = errors.New("gallery: not sent")

// renewals are the mistakes of watchdogs: those that die too early.
var renewals = openings{
	"renewal-stops-after-one-error": renewedUntil(func(r *request, _ *atomic.Bool) bool { return r.script == renewScript && failed(r) }),
	"later-holds-not-renewed": renewedUntil(func(r *request, stale *atomic.Bool) bool {
		if r.script == renewScript && failed(r) {
			stale.Store(true)
		}
		return r.is(acquireScript, "granted") && stale.Load()
	}),
	"renewal-dies-with-callers-context": active(func(Process, *background) (func(Process) *wire, func(*face)) {
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
	"renewal-needs-cached-script": wired(func(Process) *wire {
		var loaded atomic.Bool
		return &wire{before: func(_ context.Context, r *request) bool {
			return r.script != renewScript || r.Name() != "eval" || !loaded.Swap(true) || r.fail(redis.ErrNoScript)
		}}
	}),
	"renewal-every-full-lease": wired(func(Process) *wire {
		var mu sync.Mutex
		n := 0
		return &wire{before: func(_ context.Context, r *request) bool {
			if r.script != renewScript {
				return true
			}
			mu.Lock()
			defer mu.Unlock()
			n++
			return n%3 == 0 || r.answer(int64(1))
		}}
	}),
}

// renewedUntil is a base without a renewal from an answer on. over has a flag of its wire.
func renewedUntil(over func(r *request, flag *atomic.Bool) bool) opening {
	return wired(func(Process) *wire {
		var flag, dead atomic.Bool
		return &wire{
			before: func(_ context.Context, r *request) bool {
				return r.script != renewScript || !dead.Load() || r.fail(errNotSent)
			},
			after: func(r *request) {
				if over(r, &flag) {
					dead.Store(true)
				}
			},
		}
	})
}

// failed reports whether a renewal was not carried out, for another reason than a
// script that the server does not know.
func failed(r *request) bool { return r.Err() != nil && !redis.HasErrorPrefix(r.Err(), "NOSCRIPT") }

// survivors are the mistakes of watchdogs that live too long.
var survivors = openings{
	"renewal-survives-failed-release": haunted(func(r *request) (begins, ends bool) {
		return r.script == releaseScript && failed(r), r.released()
	}, releaseOnce),
	"renewal-outlives-cancelled-acquire": haunted(func(r *request) (begins, ends bool) {
		return r.takesBack(), false
	}, dropCancel),
	"renewal-survives-close": closesLate,
}

// releaseOnce is a wire on which no release is sent again.
func releaseOnce(Process) *wire {
	var mu sync.Mutex
	sent := map[string]bool{} // by field and serial
	return &wire{before: func(_ context.Context, r *request) bool {
		if r.script != releaseScript || r.Name() == "eval" {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		request := fmt.Sprint(r.arg(1), r.arg(2))
		if sent[request] {
			return r.fail(errNotSent)
		}
		sent[request] = true
		return true
	}}
}

// haunted is a base whose holds a stray renewer renews. It begins with one answer, and
// ends with another or with the process. That is only seen where the hold is still there.
// under is the rest of the wire.
func haunted(turns func(r *request) (begins, ends bool), under func(Process) *wire) opening {
	return active(func(p Process, b *background) (func(Process) *wire, func(*face)) {
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
				key, field := r.key(1), r.arg(1).(string)
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
			_ = p.Clients[0].Eval(ctx, renew, []string{key}, field, p.Lease.Milliseconds()).Err() // a stray renewer ignores errors
		case <-ctx.Done():
			every.Stop()
			return
		}
	}
}

// closesLate is a base that ends two leases after it was closed.
func closesLate(p Process) (Locks, error) {
	base, err := p.Base(p.Clients)
	return lateClose{base, 2 * p.Lease}, err
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
