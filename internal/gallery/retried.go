package gallery

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
)

// retried are the mistakes about requests that arrive twice, or whose callers give up.
var retried = openings{
	"unconfirmed-acquire-kept": wired(dropCancel),
	"second-release-refused":   releasing(func(n int, err error) (int, error) { return n, as(err, isUnknown, lock.ErrNotHeld) }),
	"unlock-obeys-cancelled-context": faced(func(f *face) {
		f.unlock = func(ctx context.Context) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			return f.base.Unlock(ctx)
		}
	}),
	"cancelled-acquire-left-behind": wired(dropCancel),
	"cancelled-wait-goes-on": faced(func(f *face) {
		f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
			return asked(context.WithoutCancel(ctx), f.base, a, forever)
		}
	}),
	"cancelled-reported-as-busy": granting(func(_ lock.Acquire, g lock.Grant, err error) (lock.Grant, error) {
		return g, as(err, func(error) bool { return true }, lock.ErrBusy)
	}),
}

// dropCancel is a wire on which no acquire is taken back.
func dropCancel(Process) *wire {
	return &wire{before: func(_ context.Context, r *request) bool {
		return !r.takesBack() || r.answer(int64(0))
	}}
}
