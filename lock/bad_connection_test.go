package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// One connection of the pool is dead, and the server answers on all others. No operation
// may wait for the dead one until its time is over, with the defaults of the Redis client.
func TestDeadConnection(t *testing.T) {
	named := func(w *world) *lock.Reentrant { return w.client(lock.WithID("same")).NewLock("orders", "a") }
	for what, prepare := range map[string]func(ctx context.Context, t *testing.T, c *lock.Client) func() error{
		"acquire": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.Acquire(ctx, "orders"); return err }
		},
		"try": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.Acquire(ctx, "orders", lock.Wait(0)); return err }
		},
		"bounded wait": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.Acquire(ctx, "orders", lock.Wait(4*time.Second)); return err }
		},
		"nested": func(ctx context.Context, t *testing.T, c *lock.Client) func() error {
			l := c.NewLock("orders", "a")
			must[lock.Grant](t)(l.Lock(ctx))
			return func() error { _, err := l.Lock(ctx); return err }
		},
		"fair": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.NewFairLock("orders").Acquire(ctx); return err }
		},
		"release": func(ctx context.Context, t *testing.T, c *lock.Client) func() error {
			h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
			return func() error { return h.Release(ctx) }
		},
		"release of a fair lock": func(ctx context.Context, t *testing.T, c *lock.Client) func() error {
			h := must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx))
			return func() error { return h.Release(ctx) }
		},
		"extend": func(ctx context.Context, t *testing.T, c *lock.Client) func() error {
			h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
			return func() error { return h.Extend(ctx, time.Minute) }
		},
		"count holds": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.NewLock("orders", "a").HoldCount(ctx); return err }
		},
		"look": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.NewLock("orders", "a").IsLocked(ctx); return err }
		},
		"force": func(ctx context.Context, _ *testing.T, c *lock.Client) func() error {
			return func() error { _, err := c.NewLock("orders", "a").ForceUnlock(ctx); return err }
		},
		"shutdown": func(ctx context.Context, t *testing.T, c *lock.Client) func() error {
			must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
			return func() error { return c.Shutdown(ctx) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				c := w.client()
				operate := prepare(ctx, t, c)
				must[bool](t)(named(w).IsLocked(ctx)) // all scripts and connections are there
				for _, l := range w.open() {
					l.mute.Store(true)
				}
				start := time.Now()
				if err := operate(); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d > 1200*time.Millisecond {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// The reads of the Redis client never time out, and the server is silent. Shutdown ends
// with its context, and Close with the unlock timeout.
func TestShutdown_ofASilentServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries, func(o *redis.Options) { o.ReadTimeout = -1 }))
		must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		w.hung.Store(true)
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		start := time.Now()
		if err := c.Shutdown(bounded); err == nil {
			t.Error("shutdown says that all is released")
		}
		if d := time.Since(start); d > 1100*time.Millisecond {
			t.Errorf("shutdown took %v in spite of its context of a second", d)
		}
		start = time.Now()
		c.Close()
		if d := time.Since(start); d > 6*time.Second {
			t.Errorf("close took %v", d)
		}
	})
}

// The server has closed all connections of the pool. A request finds that out one by one,
// without a pause.
func TestRelease_ofAPoolOfClosedConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		var holds []*lock.Hold
		for i := range 8 {
			holds = append(holds, must[*lock.Hold](t)(c.Acquire(ctx, fmt.Sprint("orders ", i))))
		}
		var all sync.WaitGroup
		for _, h := range holds[1:] { // at once, so each has a connection
			all.Go(func() { h.Release(ctx) })
		}
		all.Wait()
		open := w.open()
		for _, l := range open {
			l.lose.Store(true)
		}
		start := time.Now()
		if err := holds[0].Release(ctx); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); len(open) < 7 || d > 20*time.Millisecond {
			t.Errorf("it took %v with %d closed connections", d, len(open))
		}
	})
}

// The connections of the pool have broken while a fair waiter waits. One look finds one that
// works, and the waiter does not miss the end of a dead holder's lease.
func TestFair_looksOverBrokenConnections(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		must[*lock.Hold](t)(w.client().Acquire(ctx, "orders", lock.Lease(5*time.Second)))
		c := w.clientOn(w.redis(noRetries))
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() { must[bool](t)(c.NewLock("orders", "a").IsLocked(ctx)) })
		}
		wg.Wait()
		start := time.Now()
		time.AfterFunc(4*time.Second, func() {
			for _, l := range w.open() {
				if !l.subs.Load() {
					l.Close()
				}
			}
		})
		must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx))
		if d := time.Since(start); d > 6500*time.Millisecond {
			t.Errorf("it got the lock after %v, and the lease was over after 5s", d)
		}
	})
}
