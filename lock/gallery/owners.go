package gallery

import (
	"context"
	"time"
)

// owners are the mistakes about whose lock it is.
func owners() []Mutant {
	return []Mutant{
		owned(Mutant{
			Name: "set-without-nx", Of: "set-px-lua", Class: 12,
			Mistake: "SET PX without NX: whoever comes takes the lock, from whoever has it.",
			Shipped: "a mistake of first attempts; Redisson #84 of 2014 overwrote the new owner like this, between two commands",
		}, func(s *small) {
			s.take = func(ctx context.Context, s *small, lease time.Duration) (bool, error) {
				return isOK(s.rdb.Do(ctx, "set", s.name, s.owner, "px", lease.Milliseconds()))
			}
		}),
	}
}
