package lock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Clients share a lock on a real server that ends all their connections again and again. One
// owner has it at a time, tokens grow, and nothing stays behind, however a user sets up its
// Redis client.
func TestStress_killedConnections(t *testing.T) {
	grants := int64(100)
	if os.Getenv("HOLDFAST_NIGHTLY") != "" {
		grants = 3000
	}
	for name, change := range map[string]func(*redis.Options){
		"defaults":        func(*redis.Options) {},
		"a pool of 1":     func(o *redis.Options) { o.PoolSize = 1 },
		"a pool of 2":     func(o *redis.Options) { o.PoolSize = 2 },
		"no retries":      noRetries,
		"keeps deadlines": keepsDeadlines,
		"RESP2":           func(o *redis.Options) { o.Protocol = 2 },
	} {
		for _, kind := range []string{"plain", "fair"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				s := stress{grants: grants, addr: redisServer(t), fair: kind == "fair", change: change}
				s.run(t)
			})
		}
	}
}

// stress is a crowd of callers who want one lock.
type stress struct {
	grants int64
	addr   string
	fair   bool
	change func(*redis.Options)

	granted, inside atomic.Int64
	token           atomic.Uint64 // the last one
}

func (s *stress) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	admin := redis.NewClient(&redis.Options{Addr: s.addr})
	defer admin.Close()
	var callers, killer sync.WaitGroup
	done := make(chan struct{})
	killer.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				for _, kind := range []string{"normal", "pubsub"} {
					if err := admin.ClientKillByFilter(ctx, "type", kind, "skipme", "yes").Err(); err != nil {
						t.Error(err)
					}
				}
			case <-done:
				return
			}
		}
	})
	for range 3 {
		o := &redis.Options{Addr: s.addr}
		s.change(o)
		c := realClient(t, redis.NewClient(o), lock.WithFencing())
		for range 3 {
			callers.Go(func() {
				for s.granted.Load() < s.grants && ctx.Err() == nil {
					s.work(ctx, t, c)
				}
			})
		}
	}
	callers.Wait()
	close(done)
	killer.Wait()
	if n := s.granted.Load(); n < s.grants {
		t.Errorf("%d of %d grants in 5 minutes", n, s.grants)
	}
	for _, name := range []string{"orders", "holdfast_fair_queue:{orders}", "holdfast_fair_places:{orders}"} {
		for admin.Exists(t.Context(), name).Val() > 0 { // the last give-back may be under way
			if ctx.Err() != nil {
				t.Fatalf("%s stays behind for %v", name, admin.PTTL(t.Context(), name).Val())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if forever := leftFor(t.Context(), t, admin); len(forever) > 0 {
		t.Errorf("keys without an end: %q", forever)
	}
}

// work takes the lock once and gives it back.
func (s *stress) work(ctx context.Context, t *testing.T, c *lock.Client) {
	acquire := func(ctx context.Context) (*lock.Hold, error) { return c.Acquire(ctx, "orders") }
	if s.fair {
		acquire = func(ctx context.Context) (*lock.Hold, error) { return c.NewFairLock("orders").Acquire(ctx) }
	}
	h, err := acquire(ctx)
	if err != nil {
		if !errors.Is(err, lock.ErrUnknown) && !errors.Is(err, lock.ErrRefused) && !strings.Contains(err.Error(), "pool") {
			t.Errorf("acquire: %v", err)
		}
		return
	}
	s.granted.Add(1)
	if n := s.inside.Add(1); n != 1 {
		t.Errorf("%d owners at once", n)
	}
	for last := s.token.Load(); ; last = s.token.Load() {
		if h.Token() <= last {
			t.Errorf("token %d after %d", h.Token(), last)
		}
		if s.token.CompareAndSwap(last, h.Token()) {
			break
		}
	}
	s.inside.Add(-1)
	if err := h.Release(ctx); err != nil && !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("release: %v", err)
	}
}
