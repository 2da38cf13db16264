package textbook

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type setnxExpire struct{ Spin }

// NewSetNXExpire takes the lock with SETNX and then gives it an expiry, in two
// commands.
//
// Its mistake: a crash, a cancelled context or a lost connection between the two leaves a
// lock that never expires. And DEL releases the lock of any holder: a holder that
// outlives its lease deletes the next one's.
func NewSetNXExpire(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &setnxExpire{NewSpin(rdb, name, owner, o)}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		if ok, err := l.setnx(ctx); !ok || err != nil {
			return false, err
		}
		if err := rdb.PExpire(ctx, name, lease).Err(); err != nil {
			return false, err // and the lock stays, without expiry
		}
		return true, nil
	}
	return l
}

// Unlock deletes the key of any holder.
func (l *setnxExpire) Unlock(ctx context.Context) (int, error) { return 0, l.plainDel(ctx) }
