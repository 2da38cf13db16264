package textbook

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type noScript struct {
	Spin
	until time.Time // the end of the hold's lease, by the clock of the client
}

var _ lock.Extender = (*noScript)(nil)

// NewNoScript releases with DELIFEQ, and extends a hold with SET IFEQ PX. Valkey 9.0 and
// 8.1 have these. Each is one command, as atomic as the script of set-px-lua.
//
// Its mistakes are those of set-px-lua. A user can extend the hold, but nothing does so
// by itself.
func NewNoScript(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &noScript{Spin: NewSpin(rdb, name, owner, o)}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		asked := time.Now()
		ok, err := l.setNX(ctx, lease)
		if ok {
			l.until = asked.Add(lease)
		}
		return ok, err
	}
	return l
}

// Unlock returns ErrNotHeld when another owner or no owner holds the lock.
func (l *noScript) Unlock(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := l.rdb.Do(ctx, "delifeq", l.name, l.owner).Int()
	return 0, released(ctx, n > 0, err)
}

// Extend implements [lock.Extender].
func (l *noScript) Extend(ctx context.Context, d time.Duration) error {
	if d < time.Millisecond {
		return fmt.Errorf("lock: a lease of %v is shorter than a millisecond", d)
	}
	asked := time.Now()
	d = max(d, l.until.Sub(asked)) // it is never shortened
	cmd := redis.NewBoolCmd(ctx, "set", l.name, l.owner, "ifeq", l.owner, "px", d.Milliseconds())
	_ = l.rdb.Process(ctx, cmd) // the error is the command's
	ok, err := cmd.Result()
	if err = released(ctx, ok, err); err == nil {
		l.until = asked.Add(d)
	}
	return err
}
