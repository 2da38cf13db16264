package locktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

var errTaken = errors.New("taken")
var errGone = errors.New("gone")

type mutex struct {
	rdb   redis.UniversalClient
	name  string
	value string
	ttl   time.Duration
}

func (m *mutex) Lock(ctx context.Context) error {
	for {
		ok, err := m.rdb.SetNX(ctx, m.name, m.value, m.ttl).Result()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return errTaken
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var del = redis.NewScript(`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) end return 0`)

func (m *mutex) Unlock(ctx context.Context) error {
	n, err := del.Run(ctx, m.rdb, []string{m.name}, m.value).Int()
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

func TestMutex(t *testing.T) {
	locktest.Run(t, locktest.Lock{
		Claims: locktest.Claims{Waits: true, Cancels: true, Lease: true},
		Busy:   errTaken, NotHeld: errGone,
		New: func(c *locktest.Client, name, owner string) lock.Locker {
			m := &mutex{c.Redis, name, owner, c.Lease}
			return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
		},
	})
}
