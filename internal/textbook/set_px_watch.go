package textbook

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type setPXWatch struct{ Spin }

// NewSetPXWatch makes the look and the DEL one transaction. WATCH the key, GET it, and
// MULTI / DEL / EXEC, which does nothing when the key changed after the WATCH.
//
// Its mistake: the release is right, but takes a connection to itself and three round
// trips, WATCH, GET, and MULTI / DEL / EXEC. It starts over when the key changed. Nothing
// is done about a holder that outlives its lease.
func NewSetPXWatch(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &setPXWatch{NewSpin(rdb, name, owner, o)}
	l.Take = l.setNX
	return l
}

// Unlock returns ErrNotHeld when another owner or no owner holds the lock. As textbook
// code does, it gives up when ctx is cancelled, and leaves the lock to its lease.
func (l *setPXWatch) Unlock(ctx context.Context) (int, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err := l.rdb.Watch(ctx, func(tx *redis.Tx) error {
			holder, err := tx.Get(ctx, l.name).Result()
			switch {
			case errors.Is(err, redis.Nil):
				return lock.ErrNotHeld
			case err != nil:
				return err
			case holder != l.owner:
				return lock.ErrNotHeld
			}
			var del *redis.IntCmd
			_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				del = p.Del(ctx, l.name)
				return nil
			})
			if err == nil && del.Val() == 0 {
				return lock.ErrNotHeld // the lease ended after the GET
			}
			return err
		}, l.name)
		switch {
		case err == nil, errors.Is(err, lock.ErrNotHeld):
			return 0, err
		case !errors.Is(err, redis.TxFailedErr):
			return 0, unknown(ctx, err)
		}
	}
}
