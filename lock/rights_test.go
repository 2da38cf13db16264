package lock_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// A user that Redis 7 makes by default has no channels. Then a release has no message,
// and waiters look at intervals. They must not try to subscribe all the time.
func TestRights_noChannels(t *testing.T) {
	ctx := t.Context()
	admin := redis.NewClient(&redis.Options{Addr: redisServer(t)})
	t.Cleanup(func() { admin.Close() })
	for _, fair := range []bool{false, true} {
		holder := realClient(t, user(t, admin, "app", "~*", "+@all", "resetchannels"), lock.WithSafetyPoll(500*time.Millisecond))
		waiter := realClient(t, user(t, admin, "app", "~*", "+@all", "resetchannels"), lock.WithSafetyPoll(500*time.Millisecond))
		acquire := func(c *lock.Client) (*lock.Hold, error) {
			if fair {
				return c.NewFairLock("fair").Acquire(ctx)
			}
			return c.Acquire(ctx, "orders")
		}
		h := must[*lock.Hold](t)(acquire(holder))
		got := make(chan *lock.Hold, 1)
		before := connections(t, admin)
		go func() { got <- must[*lock.Hold](t)(acquire(waiter)) }()
		time.Sleep(1500 * time.Millisecond) // a time in which it must not do much
		if n := connections(t, admin) - before; n > 10 {
			t.Errorf("fair %v: %d connections in 1.5s", fair, n)
		}
		if err := h.Release(ctx); err != nil {
			t.Errorf("fair %v: release: %v", fair, err)
		}
		if err := (<-got).Release(ctx); err != nil {
			t.Errorf("fair %v: release of the waiter: %v", fair, err)
		}
	}
}

// connections is the number of connections that a server has ever accepted.
func connections(t *testing.T, admin *redis.Client) int {
	t.Helper()
	stats := admin.InfoMap(t.Context(), "stats").Val()
	return must[int](t)(strconv.Atoi(stats["Stats"]["total_connections_received"]))
}

// A script must not do half of its work because the user lacks a right. No hold without
// an end may stay, and an error names the server's reason. So each command of the scripts
// is forbidden in turn.
func TestRights_withoutACommand(t *testing.T) {
	ctx := t.Context()
	admin := redis.NewClient(&redis.Options{Addr: redisServer(t)})
	t.Cleanup(func() { admin.Close() })
	for _, command := range []string{"hmget", "pttl", "get", "hset", "hget", "pexpire", "del", "hdel", "set", "publish", "spublish", "time",
		"incr", "zadd", "zrem", "zrange", "zscore", "subscribe", "hlen", "exists"} {
		for kind, take := range map[string]func(c *lock.Client) (release func() error, err error){
			"plain": func(c *lock.Client) (func() error, error) {
				h, err := c.Acquire(ctx, "orders", lock.Lease(time.Minute), lock.Wait(0))
				return func() error { return h.Release(ctx) }, err
			},
			"nested": func(c *lock.Client) (func() error, error) {
				l := c.NewLock("nested", "a")
				_, err := l.TryLock(ctx, lock.Lease(time.Minute))
				if err == nil {
					_, err = l.TryLock(ctx, lock.Lease(time.Hour))
				}
				return func() error {
					_, err := l.Unlock(ctx)
					if left, err2 := l.Unlock(ctx); err == nil && left == 0 {
						err = err2
					}
					return err
				}, err
			},
			"fair": func(c *lock.Client) (func() error, error) {
				h, err := c.NewFairLock("fair").Acquire(ctx, lock.Wait(0))
				return func() error { return h.Release(ctx) }, err
			},
		} {
			t.Run(command+"/"+kind, func(t *testing.T) {
				admin.FlushAll(ctx)
				c := realClient(t, user(t, admin, "app", "~*", "&*", "+@all", "-"+command), lock.WithFencing(), lock.WithUnlockTimeout(300*time.Millisecond))
				release, err := take(c)
				if err != nil {
					namesTheRight(t, "acquire", err)
				} else if err := release(); err != nil {
					namesTheRight(t, "release", err)
				}
				if forever := leftFor(ctx, t, admin); len(forever) > 0 {
					t.Errorf("%q stay for ever", forever)
				}
			})
		}
	}
}

// A hold whose key a user may not touch any more is lost alone: the other holds of the
// same batch go on.
func TestRights_oneKeyOfABatch(t *testing.T) {
	ctx := t.Context()
	admin := redis.NewClient(&redis.Options{Addr: redisServer(t)})
	t.Cleanup(func() { admin.Close() })
	c := realClient(t, user(t, admin, "app", "~*", "&*", "+@all"), lock.WithWatchdogTimeout(900*time.Millisecond))
	holds := map[string]*lock.Hold{}
	for _, name := range []string{"a", "b", "c"} {
		holds[name] = must[*lock.Hold](t)(c.Acquire(ctx, name))
	}
	setUser(t, admin, "app", "resetkeys", "~a", "~c", "~holdfast*")
	<-holds["b"].Lost()
	time.Sleep(time.Second) // longer than the lease of the others
	for _, name := range []string{"a", "c"} {
		if err := holds[name].Release(ctx); err != nil {
			t.Errorf("release of %q: %v", name, err)
		}
	}
	err := holds["b"].Release(ctx)
	wantErr(t, "release of the forbidden one", err, lock.ErrLost)
	if strings.Contains(err.Error(), "refused") {
		t.Errorf("%v: it was lost", err)
	}
}
