package textbook

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type setPX struct{ Spin }

// NewSetPX takes the lock with SET NX PX, one atomic command, and releases it
// with DEL.
//
// Its mistake: a holder that outlives its lease deletes the lock of the next one. That
// lets in a third, whose lock the second deletes, and so on. One slow holder starts a
// chain of wrong releases.
func NewSetPX(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &setPX{NewSpin(rdb, name, owner, o)}
	l.Take = l.setNX
	return l
}

// Unlock deletes the key of any holder.
func (l *setPX) Unlock(ctx context.Context) (int, error) { return 0, l.plainDel(ctx) }
