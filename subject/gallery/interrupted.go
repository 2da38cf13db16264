package gallery

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
)

// interrupted are the mistakes about callers that give up.
func interrupted() []Mutant {
	return []Mutant{
		faced(Mutant{
			Name: "unlock-obeys-cancelled-context", Of: "reentrant", Class: 3,
			Mistake: "Unlock does nothing when its context is already cancelled, which is when deferred unlocks run.",
			Shipped: "redsync (kalbasit/ncps #913, blnkfinance/blnk #355, authgear-server #5721)",
		}, every(func(f *face) {
			f.unlock = func(ctx context.Context) (int, error) {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
				return f.base.Unlock(ctx)
			}
		})),
		wired(Mutant{
			Name: "cancelled-acquire-left-behind", Of: "reentrant", Class: 3,
			Mistake: "An acquire whose caller gave up before the reply is not taken back: the lock stays taken by nobody until the lease ends.",
			Shipped: "redsync cleans up with the cancelled context; Curator orphans its node when it is interrupted (CURATOR-462, CURATOR-495)",
		}, dropCancel),
		faced(Mutant{
			Name: "cancelled-wait-goes-on", Of: "reentrant", Class: 3,
			Mistake: "A waiter does not look at its context, and waits on for a caller that is gone.",
			Shipped: "redsync slept in time.Sleep whatever the context said (PR #68)",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				return asked(context.WithoutCancel(ctx), f.base, a, forever)
			}
		})),
		faced(Mutant{
			Name: "cancelled-reported-as-busy", Of: "reentrant", Class: 3,
			Mistake: "Whatever ends an acquire is reported as busy: a cancelled context, a server that does not answer.",
			Shipped: "redsync replaced the real error by ErrFailed (PR #156); redislock mixed the two up in both directions (#79, #84)",
		}, every(func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				g, err := asked(ctx, f.base, a, forever)
				return g, as(err, func(error) bool { return true }, lock.ErrBusy)
			}
		})),
	}
}
