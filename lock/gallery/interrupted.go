package gallery

import "context"

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
	}
}
