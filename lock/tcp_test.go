package lock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/lock"
)

// Everything again over TCP and in real time: contention, nesting, waiting,
// and nothing left behind by Close.
func TestTCP_contention(t *testing.T) {
	defer goleak.VerifyNone(t)
	server := miniredis.RunT(t)
	defer server.Close()
	for _, protocol := range []int{2, 3} {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 50, Protocol: protocol})
		var clients []*lock.Client
		var wg sync.WaitGroup
		inside, turns := 0, 0
		for range 3 {
			c, err := lock.New(rdb, lock.WithSafetyPoll(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, c)
			for _, owner := range []string{"a", "b", "c", "d"} {
				wg.Go(func() {
					l := c.NewLock("orders", owner)
					for range 10 {
						if _, err := l.Lock(t.Context()); err != nil {
							t.Error(err)
							return
						}
						inside++ // guarded by the lock; the race detector watches
						if inside != 1 {
							t.Errorf("%d owners hold the lock", inside)
						}
						turns++
						if _, err := l.TryLock(t.Context(), lock.Lease(time.Second)); err != nil {
							t.Error(err)
						}
						l.Unlock(t.Context())
						inside--
						if n, err := l.Unlock(t.Context()); n != 0 || err != nil {
							t.Error(n, err)
						}
					}
				})
			}
		}
		wg.Wait()
		if turns != 120 {
			t.Errorf("%d turns, want 120", turns)
		}
		for _, c := range clients {
			c.Close()
		}
		rdb.Close()
	}
}

// A server that is not there is an error, not a lock, and not a hang.
func TestTCP_serverDown(t *testing.T) {
	defer goleak.VerifyNone(t)
	server := miniredis.RunT(t)
	addr := server.Addr()
	server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	defer rdb.Close()
	c, err := lock.New(rdb, lock.WithUnlockTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.NewLock("orders", "a").Lock(t.Context())
	wantErr(t, "lock", err, lock.ErrRefused)
}

func TestNew_refuses(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	for name, opt := range map[string]lock.Option{
		"watchdog": lock.WithWatchdogTimeout(time.Millisecond),
		"poll":     lock.WithSafetyPoll(0),
		"unlock":   lock.WithUnlockTimeout(0),
		"acks":     lock.WithReplicaAcks(1, 0),
	} {
		if _, err := lock.New(rdb, opt); err == nil {
			t.Errorf("bad %s option was taken", name)
		}
	}
	if _, err := lock.New(nil); err == nil {
		t.Error("no Redis client was taken")
	}
}

func benchClient(b *testing.B) *lock.Client {
	b.Helper()
	server := miniredis.RunT(b)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: 50})
	c, err := lock.New(rdb)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close(); rdb.Close() })
	return c
}

// Acquire and release without another owner that wants the lock: two round trips.
func BenchmarkUncontended(b *testing.B) {
	l := benchClient(b).NewLock("orders", "a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Lock(b.Context()); err != nil {
			b.Fatal(err)
		}
		if _, err := l.Unlock(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// The lock goes back and forth between two owners, both of whom always want it.
func BenchmarkHandOff(b *testing.B) {
	c := benchClient(b)
	turns := make(chan struct{})
	var wg sync.WaitGroup
	for _, owner := range []string{"a", "b"} {
		wg.Go(func() {
			l := c.NewLock("orders", owner)
			for range turns {
				if _, err := l.Lock(b.Context()); err != nil {
					b.Error(err)
					return
				}
				if _, err := l.Unlock(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for b.Loop() {
		turns <- struct{}{}
	}
	close(turns)
	wg.Wait()
}
