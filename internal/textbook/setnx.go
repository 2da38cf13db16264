package textbook

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type setnx struct{ Spin }

// NewSetNX is the first rung: SETNX to take, DEL to release.
//
// Its mistake: there is no expiry. When the holder crashes, or its DEL is lost, the lock
// is taken for ever. And anybody's DEL releases it. A lease asked for is ignored.
func NewSetNX(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &setnx{NewSpin(rdb, name, owner, o)}
	l.forever = true
	l.Take = func(ctx context.Context, _ time.Duration) (bool, error) { return l.setnx(ctx) }
	return l
}

// setnx sends SETNX itself; go-redis's method of that name sends SET NX.
func (s *Spin) setnx(ctx context.Context) (bool, error) {
	cmd := redis.NewBoolCmd(ctx, "setnx", s.name, s.owner)
	_ = s.rdb.Process(ctx, cmd) // the error is the command's
	return cmd.Result()
}

// Unlock deletes the key of any holder.
func (l *setnx) Unlock(ctx context.Context) (int, error) { return 0, l.plainDel(ctx) }
