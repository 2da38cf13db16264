package lock_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Looks come once a poll, less a random part of up to a quarter. So clients that began at
// one time do not go on in step.
func TestFair_looksAreSpread(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		h := w.fairHolder()
		got := w.waiting(ctx, w.client(lock.WithID("a")))
		last := w.next(fairLooks).at
		w.wantSpread(fairLooks, last)
		cancel()
		<-got
		w.gives(h)
	})
}

// No process releases the lock of a holder that has died. A waiter looks once at the end
// of that lease, and within a millisecond.
func TestFair_looksAtTheEndOfALease(t *testing.T) {
	for _, f := range []struct {
		latency, lease time.Duration
		looks          int // at most: when it has subscribed, each poll, and at the end
	}{
		{time.Millisecond, 3 * time.Second, 1 + 4 + 1},
		{time.Millisecond, 400 * time.Millisecond, 2},
		{100 * time.Microsecond, 1250 * time.Microsecond, 2}, // its first look finds less than a millisecond left
	} {
		t.Run(f.lease.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.knowsFair()
				w.setLatency(f.latency)
				c := w.warm(lock.WithID("a"))
				w.deadHolder(f.lease)
				end := time.Now().Add(f.lease)
				h := <-w.waiting(t.Context(), c)
				if d := time.Since(end); d > time.Millisecond+f.latency {
					t.Errorf("granted %v after the end of the lease", d)
				}
				if n := w.looksOf("a::1"); n > f.looks {
					t.Errorf("it looked %d times, want %d at most", n, f.looks)
				}
				w.gives(h)
			})
		})
	}
}

// A look brings the lock to one of two waiters of a client, and tells how long that one
// has it. The other one looks no sooner.
func TestFair_aLookThatHandsOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.knowsFair()
		w.deadHolder(2 * time.Second)
		c := w.client(lock.WithID("a"))
		first := w.waiting(t.Context(), c)
		w.next(fairLooks)
		second := w.waiting(t.Context(), c)
		h := <-first
		before := w.looksOf("a::2")
		time.Sleep(700 * time.Millisecond)
		if n := w.looksOf("a::2") - before; n != 0 {
			t.Errorf("it looked %d times within the least pause", n)
		}
		w.gives(h)
		w.gives(<-second)
	})
}

// A look that fails is repeated at the next poll, not at once.
func TestFair_looksThatFail(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		h := w.fairHolder()
		got := w.waiting(ctx, w.client(lock.WithID("a")))
		w.next(fairLooks)
		w.server.Del(placesKey)
		w.server.Set(placesKey, "something else")
		before := w.looksOf("a::1")
		time.Sleep(10 * time.Second)
		if n := w.looksOf("a::1") - before; n < 9 || n > 14 {
			t.Errorf("it looked %d times in 10s", n)
		}
		w.server.Del(placesKey)
		time.Sleep(1100 * time.Millisecond)
		if n := w.asked("a::1"); n != 2 {
			t.Errorf("it asked %d times, want once more for the place that is gone", n)
		}
		cancel()
		<-got
		w.gives(h)
	})
}

// A connection does not answer any more. The client gives a look up in time for another
// one on another connection, so the waiter keeps its place.
func TestFair_aLookIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		c, cut := w.mortal(lock.WithID("a"))
		first := w.waiting(t.Context(), c)
		w.next(fairLooks)
		second := w.waiting(t.Context(), w.client(lock.WithID("b")))
		time.Sleep(2 * time.Second)
		cut(false)
		time.Sleep(3500 * time.Millisecond)
		w.gives(h)
		synctest.Wait()
		if to := w.owners("orders"); !slices.Equal(to, []string{"a::1"}) {
			t.Errorf("%v has the lock, want the first waiter", to)
		}
		w.gives(<-first)
		w.gives(<-second)
	})
}

// An answer may take its time. It still tells a waiter that its place is gone.
func TestFair_aSlowServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		got := w.waiting(t.Context(), w.client(lock.WithID("a")))
		w.next(fairLooks)
		w.setLatency(300 * time.Millisecond)
		w.server.Del(queueKey)
		w.server.Del(placesKey)
		time.Sleep(3 * time.Second)
		if queue := w.queued(); !slices.Equal(queue, []string{"a::1"}) {
			t.Errorf("%v wait", queue)
		}
		w.setLatency(time.Millisecond)
		w.gives(h)
		w.gives(<-got)
	})
}

// A failover loses the queue. The owners of one client ask for new places one after
// another, so the new queue has them in the order of the old one. They once asked at the
// same instant, and their order was an accident.
func TestFair_aLostQueueKeepsTheOrderOfAClient(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.knowsFair()
		h := w.fairHolder()
		c := w.warm(lock.WithID("a"))
		var all []<-chan *lock.Hold
		for range 9 {
			all = append(all, w.waiting(t.Context(), c))
			time.Sleep(10 * time.Millisecond)
		}
		before := w.queued()
		w.server.Del(queueKey)
		w.server.Del(placesKey)
		time.Sleep(1100 * time.Millisecond)
		if after := w.queued(); len(after) != len(all) || !slices.Equal(after, before) {
			t.Errorf("the queue was %v, and is %v", before, after)
		}
		w.gives(h)
		for _, got := range all {
			w.gives(<-got)
		}
	})
}

// A look of a client may overtake the first request of a new waiter. The waiter has no
// place then, and has learned that.
func TestFair_aLookOvertakesAnAcquire(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		c := w.client(lock.WithID("a"))
		first := w.waiting(t.Context(), c)
		w.next(fairLooks)
		w.next(fairLooks)
		w.setLatency(1500 * time.Millisecond)
		second := w.waiting(t.Context(), c)
		synctest.Wait()
		w.setLatency(time.Millisecond)
		time.Sleep(3 * time.Second)
		if n := w.asked("a::2"); n != 1 {
			t.Errorf("it asked %d times, want once", n)
		}
		w.gives(h)
		w.gives(<-first)
		w.gives(<-second)
	})
}
