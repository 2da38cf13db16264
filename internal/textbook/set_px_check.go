package textbook

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type setPXCheck struct{ Spin }

// NewSetPXCheck stores the owner in the lock and releases it only after a look
// at who holds it.
//
// Its mistake: the look and the DEL are two commands. When the lease ends and another
// owner takes the lock between them, the DEL still deletes the other owner's lock.
func NewSetPXCheck(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &setPXCheck{NewSpin(rdb, name, owner, o)}
	l.Take = l.setNX
	return l
}

// Unlock returns ErrNotHeld when the look finds another holder or none, or the
// DEL finds nothing to delete. It cannot tell whose lock the DEL deleted. As
// textbook code does, it gives up when ctx is cancelled, and leaves the lock to
// its lease.
func (l *setPXCheck) Unlock(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	holder, err := l.rdb.Get(ctx, l.name).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return 0, lock.ErrNotHeld
	case err != nil:
		return 0, unknown(ctx, err)
	case holder != l.owner:
		return 0, lock.ErrNotHeld
	}
	n, err := l.rdb.Del(ctx, l.name).Result()
	return 0, released(ctx, n > 0, err)
}
