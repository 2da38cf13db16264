package lock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// A server without memory refuses to grant a lock, and does release one: of every kind,
// inner holds before outer ones, and renewals go on.
func TestMemory_releasesWork(t *testing.T) {
	ctx := t.Context()
	admin := redis.NewClient(&redis.Options{Addr: redisServer(t, "--maxmemory-policy", "noeviction")})
	t.Cleanup(func() { admin.Close() })
	c := realClient(t, redis.NewClient(admin.Options()), lock.WithFencing(), lock.WithUnlockTimeout(500*time.Millisecond),
		lock.WithWatchdogTimeout(600*time.Millisecond))
	nested := c.NewLock("nested", "a")
	for range 3 {
		must[lock.Grant](t)(nested.Lock(ctx))
	}
	holds := []*lock.Hold{must[*lock.Hold](t)(c.Acquire(ctx, "orders")), must[*lock.Hold](t)(c.NewFairLock("fair").Acquire(ctx))}
	if err := admin.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := c.Acquire(ctx, "another", lock.Wait(0))
	wantErr(t, "acquire without memory", err, lock.ErrRefused)
	time.Sleep(time.Second) // longer than the lease
	for left := 2; left >= 0; left-- {
		if n, err := nested.Unlock(ctx); n != left || err != nil {
			t.Errorf("unlock: %d holds left, %v; want %d", n, err, left)
		}
	}
	for _, h := range holds {
		if err := h.Release(ctx); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	for _, name := range []string{"nested", "orders", "fair"} {
		if admin.Exists(ctx, name).Val() != 0 {
			t.Errorf("the server still has %q", name)
		}
	}
}
