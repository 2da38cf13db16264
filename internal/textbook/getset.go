package textbook

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type getSet struct {
	Spin
	ends int64 // of the last hold, in milliseconds by the clock of this client
}

// NewGetSet is the lock of the old page on SETNX, before SET had NX and PX. The key has no
// expiry: its value is the end of the lease, by the clock of the client that took the lock.
// A waiter whose own clock is past that time takes the lock over with GETSET. It has the
// lock if the answer is the value that it saw before.
//
// Its mistake: every client compares a time of another clock with its own. A waiter whose
// clock is ahead takes a lock that is held, and a dead holder with such a clock keeps it.
// And like set-px it releases with DEL: one that arrives late removes the lock of another.
func NewGetSet(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &getSet{Spin: NewSpin(rdb, name, owner, o)}
	l.Take = l.take
	return l
}

func (l *getSet) take(ctx context.Context, lease time.Duration) (bool, error) {
	now := l.opts.Now()
	l.ends = now.Add(lease).UnixMilli()
	taken := redis.NewBoolCmd(ctx, "setnx", l.name, l.ends)
	_ = l.rdb.Process(ctx, taken) // the error is the command's
	if ok, err := taken.Result(); ok || err != nil {
		return ok, err
	}
	seen, err := l.rdb.Get(ctx, l.name).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil // released meanwhile
	}
	if err != nil {
		return false, err
	}
	if ends, err := strconv.ParseInt(seen, 10, 64); err != nil || l.opts.Now().UnixMilli() <= ends {
		return false, err
	}
	before, err := l.rdb.GetSet(ctx, l.name, l.ends).Result()
	if errors.Is(err, redis.Nil) {
		return true, nil // released meanwhile, and free
	}
	return before == seen, err // otherwise another waiter was faster, and has our end of its lease
}

// Unlock deletes the key, unless the lease is over by the clock of this client.
func (l *getSet) Unlock(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if l.opts.Now().UnixMilli() > l.ends {
		return 0, lock.ErrNotHeld
	}
	n, err := l.rdb.Del(ctx, l.name).Result()
	return 0, released(ctx, n > 0, err)
}
