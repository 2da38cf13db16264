package textbook

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

//go:embed release.lua
var releaseSource string

var release = redis.NewScript(releaseSource)

type setPXLua struct{ Spin }

// NewSetPXLua compares and deletes in one script. This is where most tutorials
// stop, and what the Redis documentation shows for a single server.
//
// Its mistake: the release is right, but a holder that works longer than its lease loses
// the lock without a notice, and nothing renews it. Waiters poll. The lock is not
// reentrant.
func NewSetPXLua(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &setPXLua{NewSpin(rdb, name, owner, o)}
	l.Take = l.setNX
	return l
}

// Unlock returns ErrNotHeld when another owner or no owner holds the lock. As textbook
// code does, it gives up when ctx is cancelled, and leaves the lock to its lease.
func (l *setPXLua) Unlock(ctx context.Context) (int, error) { return 0, l.compareAndDelete(ctx) }

func (s *Spin) compareAndDelete(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := release.Run(ctx, s.rdb, []string{s.name}, s.owner).Int()
	return released(ctx, n > 0, err)
}
