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
				r.setArg(5, max(r.arg(5).(int64)/1000, 1))
			}
			return true
		}}
	}),
	"error-means-granted": granting(func(a lock.Acquire, g lock.Grant, err error) (lock.Grant, error) {
		if err != nil && !errors.Is(err, lock.ErrBusy) {
			return lock.Grant{Count: 1, Lease: a.Lease}, nil
		}
		return g, err
	}),
	"nothing-released-means-released": releasing(func(n int, err error) (int, error) { return n, as(err, isGone, nil) }),
	"wait-divided-by-thousand":        asking(func(a *lock.Acquire, _ *bool) { a.Wait /= 1000 }),
	"wait-zero-waits-for-ever":        asking(func(a *lock.Acquire, forever *bool) { *forever = *forever || a.Wait == 0 }),
	"multi-wait-zero-never-succeeds": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			if a.Wait == 0 && !forever {
				return lock.Grant{}, lock.ErrBusy
			}
			return asked(ctx, f.base, a, forever)
		}
	}),
	"token-is-a-clock": granting(func(_ lock.Acquire, g lock.Grant, err error) (lock.Grant, error) {
		g.Token = uint64(time.Now().Unix())
		return g, err
	}),
	"no-answer-panics": granting(func(_ lock.Acquire, g lock.Grant, err error) (lock.Grant, error) {
		if isUnknown(err) {
			panic("runtime error: invalid memory address or nil pointer dereference")
		}
		return g, err
	}),
	"expired-unlock-without-class": releasing(func(n int, err error) (int, error) {
		return n, as(err, isGone, errors.New("the operation was unable to achieve a quorum"))
	}),
}
