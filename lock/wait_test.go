package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// A waiter that sleeps on a free lock costs its users the safety poll, or the
// whole lease.
func TestWait_wakesWithinARoundTrip(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a := w.client(lock.WithSafetyPoll(time.Hour)).NewLock("orders", "a")
		b := w.client(lock.WithSafetyPoll(time.Hour)).NewLock("orders", "b")
		must[lock.Grant](t)(a.Lock(ctx))
		released := make(chan time.Time, 1)
		time.AfterFunc(5*time.Second, func() {
			must[int](t)(a.Unlock(ctx))
			released <- time.Now()
		})
		must[lock.Grant](t)(b.Lock(ctx))
		if d := time.Since(<-released); d > 2*w.latency() {
			t.Errorf("granted %v after the release, one trip takes %v", d, w.latency())
		}
		must[int](t)(b.Unlock(ctx))
	})
}

// The release may be published before the subscription is there.
func TestWait_triesAgainAfterSubscribing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a := w.client().NewLock("orders", "a")
		b := w.client(lock.WithSafetyPoll(time.Hour)).NewLock("orders", "b")
		must[lock.Grant](t)(a.Lock(ctx))
		start := time.Now()
		// b's first try arrives after 1ms; this release right behind it.
		time.AfterFunc(200*time.Microsecond, func() { must[int](t)(a.Unlock(ctx)) })
		must[lock.Grant](t)(b.Lock(ctx))
		if d := time.Since(start); d > 10*time.Millisecond {
			t.Errorf("granted after %v", d)
		}
		must[int](t)(b.Unlock(ctx))
	})
}

// Messages get lost. Without the poll the waiter sleeps as long as the lease.
func TestWait_safetyPollBoundsALostMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		w.server.HSet("orders", "x:1", "1")
		w.server.SetTTL("orders", time.Hour)
		time.AfterFunc(5*time.Second, func() { w.server.Del("orders") })
		start := time.Now()
		must[lock.Grant](t)(l.Lock(ctx))
		if d := time.Since(start); d > 6*time.Second+5*time.Millisecond {
			t.Errorf("granted after %v, freed after 5s", d)
		}
	})
}

// A crashed holder's lease ends without a message.
func TestWait_wakesAtTheEndOfTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithSafetyPoll(time.Hour)).NewLock("orders", "a")
		w.server.HSet("orders", "x:1", "1")
		w.server.SetTTL("orders", 7*time.Second)
		start := time.Now()
		must[lock.Grant](t)(l.Lock(ctx))
		if d := time.Since(start); d > 7*time.Second+5*time.Millisecond {
			t.Errorf("granted after %v, the lease was 7s", d)
		}
	})
}

// A broken subscription may have missed the release.
func TestWait_reconnectWakesWaiters(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		links := []*link{}
		w.dialed = func(l *link) { links = append(links, l) }
		l := w.client(lock.WithSafetyPoll(time.Hour)).NewLock("orders", "a")
		w.server.HSet("orders", "x:1", "1")
		w.server.SetTTL("orders", time.Hour)
		time.AfterFunc(5*time.Second, func() {
			w.server.Del("orders")
			for _, l := range links {
				if l.subs.Load() {
					l.Close()
				}
			}
		})
		start := time.Now()
		must[lock.Grant](t)(l.Lock(ctx))
		if d := time.Since(start); d > 5*time.Second+10*time.Millisecond {
			t.Errorf("granted after %v, freed with the connection after 5s", d)
		}
		if n := w.count("SUBSCRIBE redisson"); n != 2 {
			t.Errorf("subscribed %d times, want 2", n)
		}
	})
}

// Many waiters of one process share one subscription, and one release wakes
// one of them: a herd would load the server for nothing.
func TestWait_oneSubscriptionOneWakeUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		const waiters = 20
		holder := w.client().NewLock("orders", "holder")
		c := w.client(lock.WithSafetyPoll(time.Hour), lock.WithWatchdogTimeout(10*time.Minute))
		must[lock.Grant](t)(holder.Lock(ctx, lock.Lease(time.Hour)))
		order := make(chan int, waiters)
		for i := range waiters {
			go func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				l := c.NewLock("orders", fmt.Sprint(i))
				must[lock.Grant](t)(l.Lock(ctx))
				order <- i
				time.Sleep(time.Second)
				must[int](t)(l.Unlock(ctx))
			}()
		}
		time.Sleep(time.Minute)
		before := w.count("EVALSHA")
		must[int](t)(holder.Unlock(ctx))
		time.Sleep(time.Minute)
		for i := range waiters {
			if got := <-order; got != i {
				t.Errorf("grant %d went to waiter %d", i, got)
			}
		}
		// Per hand-off one try and one release; the holder's release.
		if n := w.count("EVALSHA") - before; n > 2*waiters+1 {
			t.Errorf("%d requests for %d hand-offs", n, waiters)
		}
		if n := w.count("SUBSCRIBE redisson"); n != 1 {
			t.Errorf("%d times subscribed or unsubscribed, want once", n)
		}
		if n := w.server.PubSubNumSub("redisson_lock__channel:{orders}"); n["redisson_lock__channel:{orders}"] != 0 {
			t.Errorf("still subscribed: %v", n)
		}
	})
}

// A waiter that was woken and then gave up must pass the wake-up on.
func TestWait_leavingWaiterWakesTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a := w.client().NewLock("orders", "a")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		must[lock.Grant](t)(a.Lock(ctx))
		first, cancel := context.WithCancel(ctx)
		go c.NewLock("orders", "first").Lock(first)
		synctest.Wait()
		time.Sleep(time.Second)
		time.AfterFunc(5*time.Second, func() {
			must[int](t)(a.Unlock(ctx))
			cancel() // the first waiter has been woken and has sent its try
		})
		start := time.Now()
		must[lock.Grant](t)(c.NewLock("orders", "second").Lock(ctx))
		if d := time.Since(start); d > 5*time.Second+10*time.Millisecond {
			t.Errorf("granted after %v, freed after 5s", d)
		}
	})
}

// A process that shuts down must not hang in a lock, nor leave goroutines.
func TestClose_wakesWaiters(t *testing.T) {
	inBothWays(t, "", closeWakesWaiters)
}

func closeWakesWaiters(t *testing.T, change func(*redis.Options)) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(change))
		a, b := c.NewLock("orders", "a"), c.NewLock("orders", "b")
		must[lock.Grant](t)(a.Lock(ctx))
		errs := make(chan error, 1)
		go func() {
			_, err := b.Lock(ctx)
			errs <- err
		}()
		time.Sleep(3500 * time.Millisecond)
		lost := a.Lost()
		start := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wantErr(t, "waiter", <-errs, lock.ErrClosed)
		if d := time.Since(start); d > 10*time.Millisecond {
			t.Errorf("Close took %v", d)
		}
		_, err := a.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrClosed)
		_, err = a.TryLock(ctx)
		wantErr(t, "lock", err, lock.ErrClosed)
		if w.server.HGet("orders", "client-1:a") != "1" {
			t.Error("Close released the lock")
		}
		<-lost // not renewed any more, and the holder learns of it
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// The connection for subscriptions is there while somebody waits.
func TestSubscription_closedWhenUnused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		rdb := w.redis()
		c := w.clientOn(rdb)
		a, b := c.NewLock("orders", "a"), c.NewLock("orders", "b")
		for range 2 {
			must[lock.Grant](t)(a.Lock(ctx))
			_, err := b.TryLock(ctx, lock.Wait(20*time.Second)) // long enough for pings
			wantErr(t, "try", err, lock.ErrBusy)
			if n := rdb.PoolStats().PubSubStats.Active; n != 1 {
				t.Errorf("%d subscription connections while waiting", n)
			}
			time.Sleep(2 * time.Second)
			if n := rdb.PoolStats().PubSubStats.Active; n != 0 {
				t.Errorf("%d subscription connections when idle", n)
			}
			must[int](t)(a.Unlock(ctx))
		}
		if n := w.count("PING"); n == 0 {
			t.Error("a silent connection was not pinged")
		}
	})
}

// A waiter whose wait ends during a request has been refused before, and the client takes
// the request back. That is a known outcome.
func TestWait_thatEndsDuringATryIsBusy(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		must[lock.Grant](t)(c.NewLock("orders", "holder").Lock(ctx))
		w.setLatency(3 * time.Millisecond)
		for try := range 4 {
			errs := make(chan error)
			for i := range 8 {
				time.Sleep(time.Millisecond)
				go func() {
					_, err := c.NewLock("orders", string(rune('a'+i))).TryLock(ctx, lock.Wait(3*time.Second))
					errs <- err
				}()
			}
			for range 8 {
				if err := <-errs; !errors.Is(err, lock.ErrBusy) || errors.Is(err, lock.ErrUnknown) {
					t.Errorf("try %d: %v, want busy", try, err)
				}
			}
		}
		if n := must[int](t)(c.NewLock("orders", "holder").Unlock(ctx)); n != 0 {
			t.Errorf("%d holds remain", n)
		}
	})
}

// A thousand waiters of one process are one waiter to the server: one of them
// looks now and then for all.
func TestWait_oneLooksForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		must[lock.Grant](t)(w.client().NewLock("orders", "holder").Lock(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		const waiters = 1000
		done := make(chan bool)
		for i := range waiters {
			go func() {
				_, err := c.NewLock("orders", fmt.Sprint(i)).Lock(ctx)
				wantErr(t, "lock", err, context.Canceled)
				done <- true
			}()
		}
		time.Sleep(5 * time.Second)
		before := w.count("EVAL")
		time.Sleep(10 * time.Second)
		if n := w.count("EVAL") - before; n > 20 {
			t.Errorf("%d requests in 10s of %d waiters", n, waiters)
		}
		cancel()
		for range waiters {
			<-done
		}
	})
}

// The first waiter gives up, and the next one looks in its place.
func TestWait_theNextOneLooks(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		w.server.HSet("orders", "a process that has died:1", "1")
		w.server.SetTTL("orders", 20*time.Second)
		first := make(chan error)
		go func() {
			_, err := c.NewLock("orders", "first").TryLock(ctx, lock.Wait(19900*time.Millisecond))
			first <- err
		}()
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		must[lock.Grant](t)(c.NewLock("orders", "second").Lock(ctx))
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("granted after %v; the lease of the holder ended after 19.9s", d)
		}
		wantErr(t, "first", <-first, lock.ErrBusy)
	})
}

// A lock that is handed on every second costs no command to subscribe again.
func TestWait_subscriptionLingers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, b := w.client().NewLock("orders", "a"), w.client().NewLock("orders", "b")
		for range 5 {
			must[lock.Grant](t)(a.Lock(ctx))
			time.AfterFunc(500*time.Millisecond, func() { must[int](t)(a.Unlock(ctx)) })
			must[lock.Grant](t)(b.Lock(ctx))
			must[int](t)(b.Unlock(ctx))
		}
		if n := w.count("SUBSCRIBE redisson"); n != 1 {
			t.Errorf("%d times subscribed or unsubscribed in 5 hand-offs, want once", n)
		}
	})
}
