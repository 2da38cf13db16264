package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

func keepsDeadlines(o *redis.Options) { o.ContextTimeoutEnabled = true }

// From its start, Shutdown refuses calls: they could take a lock that no call would
// release.
func TestShutdown_refusesCallsMeanwhile(t *testing.T) {
	inBothWays(t, "", func(t *testing.T, change func(*redis.Options)) {
		inBubble(t, func(t *testing.T, w *world) {
			ctx := t.Context()
			c := w.clientOn(w.redis(change))
			h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
			must[bool](t)(c.NewLock("stock", "a").IsLocked(ctx))
			w.setLatency(100 * time.Millisecond)
			done := make(chan error, 1)
			go func() { done <- c.Shutdown(ctx) }()
			time.Sleep(50 * time.Millisecond)
			_, err := c.NewLock("stock", "a").TryLock(ctx)
			wantErr(t, "acquire", err, lock.ErrClosed)
			wantErr(t, "release", h.Release(ctx), lock.ErrClosed)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if n := w.count("stock"); n != 1 { // IsLocked
				t.Errorf("%d requests about the other lock", n)
			}
		})
	})
}

// A waiter of the client hears of the shutdown at once, and does not get the lock that
// the shutdown releases.
func TestShutdown_waiterOfTheSameClient(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var failed failures
		c := w.clientOn(w.redis(keepsDeadlines), lock.WithWatchdogTimeout(time.Second), failed.observe())
		a, b, stock := c.NewLock("orders", "a"), c.NewLock("orders", "b"), c.NewLock("stock", "a")
		must[lock.Grant](t)(a.Lock(ctx))
		must[lock.Grant](t)(stock.Lock(ctx))
		waiter := make(chan error, 1)
		go func() {
			_, err := b.Lock(ctx)
			waiter <- err
		}()
		time.Sleep(100 * time.Millisecond)
		w.setLatency(500 * time.Millisecond)
		go stock.Extend(ctx, time.Minute) // Shutdown waits for its answer
		synctest.Wait()
		w.setLatency(time.Millisecond)
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- c.Shutdown(ctx) }()
		wantErr(t, "waiter", <-waiter, lock.ErrClosed)
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("the waiter heard of it after %v", d)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, name := range []string{"orders", "stock"} {
			if w.server.Exists(name) {
				t.Errorf("%s is held after the shutdown", name)
			}
		}
		if n := len(failed.times()); n > 0 {
			t.Errorf("%d renewals were reported as failed, and a closed client has none to do", n)
		}
	})
}

// Shutdown releases a few locks at a time, and always in the same order.
func TestShutdown_order(t *testing.T) {
	play := func() (waves []string) {
		inBubble(t, func(t *testing.T, w *world) {
			c := w.client()
			for i := range 50 {
				must[*lock.Hold](t)(c.Acquire(t.Context(), fmt.Sprintf("job-%02d", i)))
			}
			spare := c.NewLock("spare", "a")
			must[lock.Grant](t)(spare.Lock(t.Context()))
			must[int](t)(spare.Unlock(t.Context())) // the server has the script from here on
			w.setLatency(50 * time.Millisecond)
			var wg sync.WaitGroup
			for range 20 { // connections that the releases find
				wg.Go(func() { must[bool](t)(spare.IsLocked(t.Context())) })
			}
			wg.Wait()
			if err := c.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			wave, at := []string(nil), time.Time{}
			for _, e := range w.arrived() {
				if !e.releases() || e.args[2] == "spare" {
					continue
				}
				if e.at.Equal(at) || wave == nil {
					wave = append(wave, e.args[2]) // the lock
				} else {
					slices.Sort(wave)
					waves = append(waves, strings.Join(wave, " "))
					wave = []string{e.args[2]}
				}
				if at = e.at; len(wave) > 16 {
					t.Errorf("%d locks are released at once", len(wave))
				}
			}
		})
		return waves
	}
	first, second := play(), play()
	if len(first) < 2 || !slices.Equal(first, second) {
		t.Errorf("released in the order\n%s\nand the next time\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
}

// Shutdown repeats the release after an outage, as Unlock does.
func TestShutdown_duringAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.clientOn(w.redis(noRetries))
		must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		time.AfterFunc(1500*time.Millisecond, w.refuse())
		if err := c.Shutdown(t.Context()); err != nil {
			t.Errorf("the outage is over, and Shutdown says: %v", err)
		}
		if w.server.Exists("orders") {
			t.Error("the lock is held after the shutdown")
		}
	})
}

// A loss that no call has reported stays one after the shutdown.
func TestShutdown_afterALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		l := c.NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(t.Context(), lock.Lease(time.Second)))
		time.Sleep(2 * time.Second)
		if err := c.Shutdown(context.Background()); err != nil {
			t.Errorf("nothing is held, and Shutdown says: %v", err)
		}
		if !closed(l.Lost()) {
			t.Error("the hold is not lost any more")
		}
	})
}

// A waiter of the fair lock takes back, one after another, the requests that the shutdown
// finds open. Neither waits for the other.
func TestShutdown_whileAWaiterIsHandedTheLock(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		holder, c, other := w.client(), w.client(), w.client()
		for _, first := range []*lock.Client{holder, c} { // the server has the scripts from here on
			if err := must[*lock.Hold](t)(first.NewFairLock("orders").Acquire(ctx)).Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		h := must[*lock.Hold](t)(holder.NewFairLock("orders").Acquire(ctx))
		w.dropReply("orders", 1) // so that its first request goes out twice
		waiter := make(chan error, 1)
		go func() {
			_, err := c.NewFairLock("orders").Acquire(ctx, lock.Lease(10*time.Second))
			waiter <- err
		}()
		time.Sleep(time.Second)
		w.drop.Store(nil)
		go h.Release(ctx)
		time.Sleep(500 * time.Microsecond)
		w.setLatency(100 * time.Millisecond) // of the request that follows the hand-off
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		if err := c.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > 500*time.Millisecond {
			t.Errorf("the shutdown took %v", d)
		}
		if err := <-waiter; !errors.Is(err, lock.ErrClosed) {
			t.Errorf("the waiter: %v", err)
		}
		must[*lock.Hold](t)(other.NewFairLock("orders").Acquire(ctx, lock.Wait(0)))
	})
}

// An acquire without an answer is still open when the client shuts down, and the
// server answers again. The lock is free then, or the error names it.
func TestShutdown_takesAnOpenAcquireBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second))
		l := c.NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[int](t)(l.Unlock(ctx))
		w.dropReply("orders", 1)
		time.AfterFunc(1500*time.Microsecond, func() { w.hung.Store(true) })
		_, err := l.TryLock(ctx)
		wantErr(t, "acquire", err, lock.ErrUnknown)
		time.Sleep(1400 * time.Millisecond)
		w.hung.Store(false)
		err = c.Shutdown(ctx)
		if w.server.Exists("orders") && err == nil {
			t.Errorf("the lock is held for %v, and Shutdown says nothing", w.server.TTL("orders"))
		}
	})
}

// The server stays away, so Shutdown cannot know what became of the acquire.
func TestShutdown_cannotTakeAnAcquireBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.warm(lock.WithUnlockTimeout(time.Second))
		w.hung.Store(true)
		_, err := c.NewLock("orders", "a").TryLock(t.Context())
		wantErr(t, "acquire", err, lock.ErrUnknown)
		wantErr(t, "shutdown", c.Shutdown(t.Context()), lock.ErrUnknown)
	})
}

// No server answers a Shutdown. The caller may repeat it, and the lock is free then.
func TestShutdown_again(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second))
		must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		w.hung.Store(true)
		wantErr(t, "shutdown", c.Shutdown(ctx), lock.ErrUnknown)
		w.hung.Store(false)
		if err := c.Shutdown(ctx); err != nil || w.server.Exists("orders") {
			t.Errorf("again: %v; held: %v", err, w.server.Exists("orders"))
		}
	})
}
