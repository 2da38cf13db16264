package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// mutex is a lock as somebody may have one: a value of the owner's own, an expiry, and a
// release that compares. mistakes are its possible mistakes.
type mutex struct {
	rdb         redis.UniversalClient
	name, value string
	ttl         time.Duration
	mistake     mistake
}

type mistake int

const (
	none         mistake = iota
	plainDelete          // releases whatever there is
	readThenDel          // compares in one command, and deletes in another
	foreverBusy          // does not look again while it waits
	grantsAlways         // takes a lock that somebody has
)

var (
	errTaken = errors.New("taken")
	errGone  = errors.New("not mine any more")
)

var compareAndDelete = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// Lock takes the lock, or waits for it as long as ctx lasts.
func (m *mutex) Lock(ctx context.Context) error {
	for {
		ok, err := m.rdb.SetNX(ctx, m.name, m.value, m.ttl).Result()
		if err == nil && !ok && m.mistake == grantsAlways {
			return m.rdb.Set(ctx, m.name, m.value, m.ttl).Err()
		}
		if err != nil || ok {
			return err
		}
		wait := 50 * time.Millisecond
		if m.mistake == foreverBusy {
			wait = time.Hour
		}
		select {
		case <-ctx.Done():
			return errTaken
		case <-time.After(wait):
		}
	}
}

// Unlock gives the lock back, whatever has become of its caller's context.
func (m *mutex) Unlock(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var n int64
	var err error
	switch m.mistake {
	case plainDelete:
		return m.rdb.Del(ctx, m.name).Err()
	case readThenDel:
		value, err := m.rdb.Get(ctx, m.name).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if value == m.value {
			return m.rdb.Del(ctx, m.name).Err()
		}
	default:
		n, err = compareAndDelete.Run(ctx, m.rdb, []string{m.name}, m.value).Int64()
	}
	if err == nil && n == 0 {
		return errGone
	}
	return err
}
