package gallery

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
)

// retried are the mistakes about requests that arrive twice: an acquire that counts
// twice, and a release that fails the second time.
var retried = openings{
	"unconfirmed-acquire-kept": wired(dropCancel),
	"second-release-refused":   releasing(func(n int, err error) (int, error) { return n, as(err, isUnknown, lock.ErrNotHeld) }),
}

// dropCancel is a wire on which no acquire is taken back.
func dropCancel(Process) *wire {
	return &wire{before: func(_ context.Context, r *request) bool {
		return !r.takesBack() || r.answer(int64(0))
	}}
}
