package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Two requests of one service are two owners.
func TestAcquire_isNotReentrant(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		_, err := c.Acquire(ctx, "orders", lock.Wait(0))
		wantErr(t, "a second call", err, lock.ErrBusy)
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		again := must[*lock.Hold](t)(c.Acquire(ctx, "orders", lock.Wait(0)))
		wantErr(t, "a second release", h.Release(ctx), lock.ErrNotHeld)
		if again.Remaining() == 0 {
			t.Error("the release of an old hold has ended a new one")
		}
		if err := again.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// ErrBusy comes only with Wait; even a wait of 0 is one.
func TestAcquire_waits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		for _, wait := range []time.Duration{0, 5 * time.Second} {
			start := time.Now()
			_, err := c.Acquire(t.Context(), "orders", lock.Wait(wait))
			wantErr(t, "a wait that is over", err, lock.ErrBusy)
			if took := time.Since(start); took < wait || took > wait+100*time.Millisecond {
				t.Errorf("a wait of %v took %v", wait, took)
			}
		}
		_, err := c.Acquire(t.Context(), "orders", lock.Wait(0))
		wantErr(t, "one try", err, lock.ErrBusy)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = c.Acquire(ctx, "orders")
		wantErr(t, "a wait without a bound", err, context.DeadlineExceeded)
	})
}

// Owners that are calls share few notes on the server, however many calls come.
func TestAcquire_usesNumbersAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		owners := map[string]bool{}
		c := w.client(lock.WithObserver(lock.Observer{AcquireDone: func(_ context.Context, r lock.AcquireResult) { owners[r.Owner] = true }}))
		for range 50 {
			h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
			if err := h.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		must[*lock.Hold](t)(c.Acquire(ctx, "orders", lock.Lease(time.Second)))
		time.Sleep(2 * time.Second) // lost, and never released
		must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		if len(owners) != 1 {
			t.Errorf("calls one after another used the owners %v", owners)
		}
		if _, err := c.NewLock("orders", ":1").TryLock(ctx); err == nil || !strings.Contains(err.Error(), "begins with") {
			t.Errorf("an owner with the name of a call: %v", err)
		}
	})
}

func TestHold_context(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		parent, cancel := context.WithCancel(t.Context())
		h := must[*lock.Hold](t)(c.Acquire(parent, "a"))
		cancel()
		if err := h.Context().Err(); err != nil {
			t.Errorf("the end of the wait's context ends the work: %v", err)
		}

		h = must[*lock.Hold](t)(c.Acquire(t.Context(), "b", lock.Lease(time.Second)))
		work := h.Context()
		if d := h.Remaining(); d <= 900*time.Millisecond || d >= time.Second {
			t.Errorf("%v remain of a second", d)
		}
		time.Sleep(h.Remaining() + time.Millisecond)
		synctest.Wait()
		wantErr(t, "the end of the lease", context.Cause(work), lock.ErrLost)
		if !closed(h.Lost()) || h.Remaining() != 0 {
			t.Error("a lost hold says that it lasts")
		}
		wantErr(t, "the context of a lost hold", context.Cause(h.Context()), lock.ErrLost)
		wantErr(t, "release after the loss", h.Release(t.Context()), lock.ErrLost)

		h = must[*lock.Hold](t)(c.Acquire(t.Context(), "b"))
		work = h.Context()
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "the release", context.Cause(work), lock.ErrNotHeld)
		wantErr(t, "a context after the release", context.Cause(h.Context()), lock.ErrNotHeld)
	})
}

func TestHold_releaseWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second))
		h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		w.hung.Store(true)
		wantErr(t, "release on a hung server", h.Release(t.Context()), lock.ErrUnknown)
		w.hung.Store(false)
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("release again: %v", err)
		}
	})
}

func TestDo(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		free := func(what string) {
			t.Helper()
			h, err := c.Acquire(ctx, "orders", lock.Wait(0))
			if err != nil {
				t.Fatalf("%s left the lock held: %v", what, err)
			}
			if err := h.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Do(ctx, "orders", func(context.Context, *lock.Hold) error { return nil }); err != nil {
			t.Error(err)
		}
		free("success")

		failed := errors.New("work failed")
		if err := c.Do(ctx, "orders", func(context.Context, *lock.Hold) error { return failed }); err != failed {
			t.Errorf("work failed, and Do says %v", err)
		}
		free("failure")

		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic was swallowed")
				}
			}()
			_ = c.Do(ctx, "orders", func(context.Context, *lock.Hold) error { panic("work") })
		}()
		free("a panic")

		err := c.Do(ctx, "orders", func(ctx context.Context, h *lock.Hold) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, lock.Lease(time.Second))
		wantErr(t, "a loss", err, lock.ErrLost)
		err = c.Do(ctx, "orders", func(context.Context, *lock.Hold) error {
			time.Sleep(2 * time.Second)
			return nil
		}, lock.Lease(time.Second))
		wantErr(t, "a loss that work did not notice", err, lock.ErrLost)

		if err := c.Do(ctx, "orders", func(ctx context.Context, h *lock.Hold) error { return h.Release(ctx) }); err != nil {
			t.Errorf("work has released the lock itself: %v", err)
		}
		must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		err = c.Do(ctx, "orders", func(context.Context, *lock.Hold) error {
			t.Error("work runs without the lock")
			return nil
		}, lock.Wait(time.Second))
		wantErr(t, "a busy lock", err, lock.ErrBusy)
	})
}

func TestExtend(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second))
		start := time.Now()
		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders", lock.Lease(2*time.Second)))
		if err := h.Extend(ctx, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if d := h.Remaining(); d < 9*time.Second || d > 10*time.Second {
			t.Errorf("%v remain of an extension by 10s", d)
		}
		if err := h.Extend(ctx, time.Second); err != nil || h.Remaining() < 9*time.Second {
			t.Errorf("a shorter extension: %v, and %v remain", err, h.Remaining())
		}
		time.Sleep(time.Until(start.Add(8 * time.Second)))
		_, err := c.Acquire(ctx, "orders", lock.Wait(0))
		wantErr(t, "another call in the extension", err, lock.ErrBusy)
		w.hung.Store(true)
		wantErr(t, "an extension without an answer", h.Extend(ctx, time.Minute), lock.ErrUnknown)
		w.hung.Store(false)
		if h.Remaining() > 2*time.Second {
			t.Errorf("%v remain after an extension that nobody has confirmed", h.Remaining())
		}
		time.Sleep(h.Remaining())
		wantErr(t, "an extension after the loss", h.Extend(ctx, time.Second), lock.ErrLost)
		wantErr(t, "release", h.Release(ctx), lock.ErrLost)
		wantErr(t, "an extension after the release", h.Extend(ctx, time.Second), lock.ErrNotHeld)

		l := c.NewLock("stock", "a")
		wantErr(t, "an extension of nothing", l.Extend(ctx, time.Second), lock.ErrNotHeld)
		must[lock.Grant](t)(l.Lock(ctx))
		w.server.Del("stock")
		wantErr(t, "an extension of what the server has lost", l.Extend(ctx, time.Second), lock.ErrLost)
		if !closed(l.Lost()) || l.Remaining() != 0 {
			t.Error("the holder was not told of the loss")
		}
	})
}

// An extension that is longer than the lease of the watchdog stays, and when it is
// over the renewals still count.
func TestExtend_ofARenewedHold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client(lock.WithWatchdogTimeout(3 * time.Second))
		l := c.NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		if err := l.Extend(ctx, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		w.hung.Store(true)
		time.Sleep(time.Minute)
		w.hung.Store(false)
		if l.Remaining() < 8*time.Minute {
			t.Errorf("%v remain of ten minutes", l.Remaining())
		}
		time.Sleep(20 * time.Minute)
		if closed(l.Lost()) {
			t.Error("the watchdog stopped at the end of the extension")
		}
		if _, err := l.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestShutdown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c, other := w.client(), w.client()
		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		l := c.NewLock("stock", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[lock.Grant](t)(l.Lock(ctx))
		must[*lock.Hold](t)(other.Acquire(ctx, "invoices"))
		waiter := make(chan error, 1)
		go func() {
			_, err := c.Acquire(ctx, "invoices")
			waiter <- err
		}()
		synctest.Wait()
		work := h.Context()
		if err := c.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "a waiter", <-waiter, lock.ErrClosed)
		wantErr(t, "who still works", context.Cause(work), lock.ErrNotHeld)
		wantErr(t, "release after the shutdown", h.Release(ctx), lock.ErrClosed)
		for _, name := range []string{"orders", "stock"} {
			must[*lock.Hold](t)(other.Acquire(ctx, name, lock.Wait(0)))
		}
	})
}

// A grant that is on its way when the client shuts down is released, too.
func TestShutdown_whileAGrantIsOnItsWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		rdb := w.redis(func(o *redis.Options) { o.ContextTimeoutEnabled = true })
		c, other := w.clientOn(rdb), w.client()
		w.setLatency(100 * time.Millisecond)
		go c.Acquire(ctx, "orders")
		time.Sleep(50 * time.Millisecond)
		if err := c.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		must[*lock.Hold](t)(other.Acquire(ctx, "orders", lock.Wait(0)))
	})
}

func TestShutdown_endsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Minute))
		must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		w.hung.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		err := c.Shutdown(ctx)
		wantErr(t, "shutdown on a hung server", err, lock.ErrUnknown)
		if !strings.Contains(err.Error(), `"orders"`) {
			t.Errorf("the error does not name the lock: %v", err)
		}
		if took := time.Since(start); took > 6*time.Second { // the read timeout besides
			t.Errorf("it took %v", took)
		}
	})
}

// Without a wait, an acquire looks once and joins no queue.
func TestAcquire_looksOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		must[*lock.Hold](t)(w.client().Acquire(ctx, "orders"))
		c, start := w.client(), time.Now()
		_, err := c.Acquire(ctx, "orders", lock.Wait(0))
		wantErr(t, "a busy lock", err, lock.ErrBusy)
		_, err = c.NewFairLock("orders").Acquire(ctx, lock.Wait(0))
		wantErr(t, "a busy fair lock", err, lock.ErrBusy)
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("two tries took %v", d)
		}
		if w.server.Exists("holdfast_fair_queue:{orders}") {
			t.Error("a try joined the queue")
		}
	})
}

// An extension has at least a millisecond, the unit of Redis.
func TestExtend_leastDuration(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := must[*lock.Hold](t)(w.client().Acquire(ctx, "orders", lock.Lease(time.Second)))
		if err := h.Extend(ctx, time.Millisecond-1); err == nil || errors.Is(err, lock.ErrUnknown) {
			t.Errorf("less than 1ms: %v", err)
		}
		for _, d := range []time.Duration{time.Millisecond, 5 * time.Millisecond} {
			if err := h.Extend(ctx, d); err != nil {
				t.Errorf("%v: %v", d, err)
			}
		}
	})
}

// Shutdown releases more locks than it has goroutines before it returns.
func TestShutdown_ofManyHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		for i := range 100 {
			must[*lock.Hold](t)(c.Acquire(t.Context(), fmt.Sprint("orders ", i)))
		}
		w.setLatency(50 * time.Millisecond)
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			if w.server.Exists(fmt.Sprint("orders ", i)) {
				t.Errorf("lock %d is held after the shutdown", i)
			}
		}
	})
}

// Do tells both errors when its work fails and its release as well.
func TestDo_tellsBothErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		failed := errors.New("work failed")
		err := w.client().Do(t.Context(), "orders", func(context.Context, *lock.Hold) error {
			w.server.Del("orders")
			return failed
		})
		if !errors.Is(err, failed) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("work failed and the hold was lost, and Do says: %v", err)
		}
	})
}

// Work that loses the lock, hears of it from its own release, and says nothing, has not
// been under the lock to its end.
func TestDo_workIgnoresTheLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		err := w.client().Do(t.Context(), "orders", func(ctx context.Context, h *lock.Hold) error {
			w.server.Del("orders")
			wantErr(t, "release by work", h.Release(ctx), lock.ErrLost)
			return nil
		})
		wantErr(t, "Do", err, lock.ErrNotHeld)
	})
}

// A hold that work has released itself and kept has ended for everybody who asks.
func TestHold_afterItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		var kept *lock.Hold
		if err := c.Do(ctx, "orders", func(ctx context.Context, h *lock.Hold) error {
			kept = h
			return h.Release(ctx)
		}); err != nil {
			t.Fatal(err)
		}
		released := must[*lock.Hold](t)(c.Acquire(ctx, "orders"))
		if err := released.Release(ctx); err != nil {
			t.Fatal(err)
		}
		for _, h := range []*lock.Hold{kept, released} { // the context of one was never asked for
			if cause := context.Cause(h.Context()); cause != lock.ErrNotHeld {
				t.Errorf("the context has ended with %v", cause)
			}
			if h.Remaining() != 0 {
				t.Errorf("%v remain", h.Remaining())
			}
		}
	})
}

// Without WithFencing, a hold has no token, and the server keeps none.
func TestHold_withoutAToken(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		for name, opts := range map[string][]lock.AcquireOption{"a wait": nil, "a try": {lock.Wait(0)}} {
			h := must[*lock.Hold](t)(c.Acquire(ctx, "orders", opts...))
			if h.Token() != 0 || w.server.Exists("holdfast_lock_token:{orders}") {
				t.Errorf("%s: token %d", name, h.Token())
			}
			if err := h.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The context of work ends with that of Do. That of a hold by Acquire does not.
func TestDo_endsWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		ctx, cancel := context.WithCancel(t.Context())
		h := must[*lock.Hold](t)(c.Acquire(ctx, "other"))
		err := c.Do(ctx, "orders", func(work context.Context, _ *lock.Hold) error {
			cancel()
			select {
			case <-work.Done():
			case <-time.After(time.Second):
			}
			return work.Err()
		})
		if !errors.Is(err, context.Canceled) || h.Context().Err() != nil {
			t.Errorf("do: %v; the context of another hold: %v", err, h.Context().Err())
		}
	})
}
