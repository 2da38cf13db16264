package gallery

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// sentinels are the mistakes about numbers and errors that mean something
// else: units, zero, -1 and nil.
var sentinels = openings{
	"lease-divided-by-thousand": wired(func(Process) *wire {
		return &wire{before: func(_ context.Context, r *request) bool {
			if r.script == acquireScript {
				r.setArg(1, max(r.arg(1).(int64)/1000, 1))
			}
			return true
		}}
	}),
	"error-means-granted": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			g, err := asked(ctx, f.base, a, forever)
			if err != nil && !errors.Is(err, lock.ErrBusy) {
				return lock.Grant{Count: 1, Lease: a.Lease}, nil
			}
			return g, err
		}
	}),
	"nothing-released-means-released": faced(func(f *face) {
		f.unlock = func(ctx context.Context) (int, error) {
			n, err := f.base.Unlock(ctx)
			return n, as(err, isGone, nil)
		}
	}),
	"wait-divided-by-thousand": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			a.Wait /= 1000
			return asked(ctx, f.base, a, forever)
		}
	}),
	"wait-zero-waits-for-ever": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			return asked(ctx, f.base, a, forever || a.Wait == 0)
		}
	}),
	"multi-wait-zero-never-succeeds": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			if a.Wait == 0 && !forever {
				return lock.Grant{}, lock.ErrBusy
			}
			return asked(ctx, f.base, a, forever)
		}
	}),
	"token-is-a-clock": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			g, err := asked(ctx, f.base, a, forever)
			g.Token = uint64(time.Now().Unix())
			return g, err
		}
	}),
	"no-answer-panics": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			g, err := asked(ctx, f.base, a, forever)
			if isUnknown(err) {
				panic("runtime error: invalid memory address or nil pointer dereference")
			}
			return g, err
		}
	}),
	"expired-unlock-without-class": faced(func(f *face) {
		f.unlock = func(ctx context.Context) (int, error) {
			n, err := f.base.Unlock(ctx)
			return n, as(err, isGone, errors.New("the operation was unable to achieve a quorum"))
		}
	}),
}
