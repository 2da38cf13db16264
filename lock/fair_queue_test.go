package lock_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A place has all that the server needs to hand the lock on without a question. It has
// the request that counts, the end of the place, the lease of the hold, and the channel
// to notify. A look changes the first two. The queue outlives its last place by one lease
// of it.
func TestFairQueue_aPlaceAndItsLooks(t *testing.T) {
	for name, f := range map[string]struct {
		option lock.Option
		lease  []lock.AcquireOption
		place  time.Duration
		hold   time.Duration
	}{
		"by default":      {lock.WithSafetyPoll(time.Second), nil, 3 * time.Second, 30 * time.Second},
		"a slow poll":     {lock.WithSafetyPoll(5 * time.Second), nil, 15 * time.Second, 30 * time.Second},
		"a fast poll":     {lock.WithSafetyPoll(20 * time.Millisecond), nil, 3 * time.Second, 30 * time.Second},
		"a lease":         {lock.WithSafetyPoll(time.Second), []lock.AcquireOption{lock.Lease(7 * time.Second)}, 3 * time.Second, 7 * time.Second},
		"another timeout": {lock.WithWatchdogTimeout(9 * time.Second), nil, 3 * time.Second, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.knowsFair()
				h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
				c := w.warm(lock.WithID("waiter"), f.option)
				time.Sleep(555 * time.Millisecond)
				w.setLatency(10 * time.Millisecond)
				got := w.waiting(ctx, c, f.lease...)
				check := func(e entry, serial string) {
					t.Helper()
					want := fmt.Sprintf("%s:%d:%d:holdfast_fair:{orders}:waiter", serial, e.at.Add(f.place).UnixMilli(), f.hold.Milliseconds())
					if place := w.server.HGet(placesKey, "waiter::1"); place != want {
						t.Errorf("the place is %s, want %s", place, want)
					}
					for _, key := range []string{queueKey, placesKey} {
						if ttl := w.server.TTL(key); ttl > 2*f.place || ttl < 2*f.place-time.Millisecond {
							t.Errorf("%s lasts for %v, want %v", key, ttl, 2*f.place)
						}
					}
				}
				e := w.next(fairAcquires)
				check(e, e.arg(5))
				for range 3 {
					e = w.next(fairLooks)
					check(e, e.arg(5))
				}
				w.gives(h)
				w.gives(<-got)
			})
		})
	}
}

// An owner in the queue waits. Its members are gone when they give up, when the lock was
// handed to them, and when they find it free.
func TestFairQueue_hasThoseWhoWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.knowsFair()
		h := must[*lock.Hold](t)(w.client(lock.WithID("h")).NewFairLock("orders").Acquire(ctx))
		is := func(when string, want ...string) {
			t.Helper()
			if got := w.queued(); !slices.Equal(got, want) {
				t.Errorf("%s: %v wait, want %v", when, got, want)
			}
		}
		a := w.waiting(t.Context(), w.client(lock.WithID("a")))
		w.next(fairLooks)
		b := w.waiting(ctx, w.client(lock.WithID("b")))
		w.next(fairLooks)
		c := w.waiting(t.Context(), w.client(lock.WithID("c")))
		w.next(fairLooks)
		is("at first", "a::1", "b::1", "c::1")
		cancel()
		<-b
		is("after one has given up", "a::1", "c::1")
		w.gives(h)
		h = <-a
		is("after a hand-off", "c::1")
		w.gives(h)
		h = <-c
		is("after another")
		w.gives(h)

		// A holder dies. The answer to a waiter is lost, and its request finds the lock
		// free when it comes again.
		d := w.warm(lock.WithID("d"))
		w.deadHolder(2 * time.Millisecond)
		w.dropReply("d::1", 1)
		time.AfterFunc(1500*time.Microsecond, func() { is("after its first request", "d::1") })
		h = must[*lock.Hold](t)(d.NewFairLock("orders").Acquire(t.Context()))
		is("after a grant at the second try")
		w.gives(h)
		h = must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(t.Context(), lock.Wait(0)))
		w.gives(h)
	})
}

// A request that arrives once more changes no place: it makes no place longer, and moves
// no waiter to the end.
func TestFairQueue_copiesChangeNoPlace(t *testing.T) {
	for name, f := range map[string]struct {
		request string
		looks   int // until the copy arrives
	}{
		"an acquire at once": {fairAcquires, 0},
		"an acquire late":    {fairAcquires, 3},
		"a look at once":     {fairLooks, 1},
		"a look late":        {fairLooks, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				w.knowsFair()
				h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
				w.setLatency(10 * time.Millisecond)
				behind := w.client(lock.WithID("b"))
				a := w.waiting(ctx, w.warm(lock.WithID("a")))
				request := w.next(f.request)
				b := w.waiting(ctx, behind) // it looks no sooner than the other
				for w.looksOf("a::1") < f.looks {
					w.next(fairLooks)
				}
				time.Sleep(3 * time.Millisecond)
				before, queue := w.server.HGet(placesKey, "a::1"), w.queued()
				w.setLatency(0)
				w.again(request.request())
				w.setLatency(10 * time.Millisecond)
				if after := w.server.HGet(placesKey, "a::1"); after != before {
					t.Errorf("the place was %s, and is %s", before, after)
				}
				if after := w.queued(); !slices.Equal(after, queue) {
					t.Errorf("the queue was %v, and is %v", queue, after)
				}
				cancel()
				<-a
				<-b
				w.gives(h)
			})
		})
	}
}

// A waiter gives up, and comes again as the same owner. A copy of its leave arrives then,
// and leaves the new place alone.
func TestFairQueue_aCopyOfALeave(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.knowsFair()
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		c := w.client(lock.WithID("a"))
		var leaves []entry
		for range 2 {
			_, err := c.NewFairLock("orders").Acquire(ctx, lock.Wait(time.Second))
			wantErr(t, "a bounded wait", err, lock.ErrBusy)
			synctest.Wait() // the next one is the same owner
			all := w.leaves()
			leaves = append(leaves, all[len(all)-1])
		}
		got := w.waiting(ctx, c)
		w.next(fairLooks)
		for i, late := range leaves {
			w.again(late.request())
			if queue := w.queued(); !slices.Equal(queue, []string{"a::1"}) {
				t.Errorf("after a copy of leave %d, %v wait", i, queue)
			}
		}
		w.gives(h)
		w.gives(<-got)
	})
}

// The server counts the lease of a place in milliseconds. In the one in which it ends, the
// place is over, and the lock goes to the next waiter.
func TestFairQueue_aPlaceEnds(t *testing.T) {
	for _, early := range []time.Duration{0, time.Millisecond} {
		t.Run(early.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				w.knowsFair()
				h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
				c, cut := w.mortal(lock.WithID("dead"))
				dead := w.waiting(ctx, c)
				w.next(fairLooks)
				cut(true)
				next := w.waiting(t.Context(), w.client(lock.WithID("next")))
				w.next(fairLooks)
				ends, err := strconv.ParseInt(strings.Split(w.server.HGet(placesKey, "dead::1"), ":")[1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(time.UnixMilli(ends)) - w.latency() - early)
				w.gives(h)
				synctest.Wait()
				to := w.owners("orders")
				if want := []string{"next::1"}; early == 0 && !slices.Equal(to, want) {
					t.Errorf("handed to %v, want %v", to, want)
				}
				if want := []string{"dead::1"}; early > 0 && (!slices.Equal(to, want) || w.server.TTL("orders") > early) {
					t.Errorf("handed to %v for %v, want %v for %v", to, w.server.TTL("orders"), want, early)
				}
				w.gives(<-next)
				cancel()
				<-dead
			})
		})
	}
}

// A holder dies, and its lease ends before a waiter has looked. A newcomer then does not
// overtake the waiter, but brings it the lock.
func TestFairQueue_aNewcomerHandsAFreeLockOn(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(fmt.Sprint(waits), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				w.knowsFair()
				w.setLatency(20 * time.Millisecond)
				w.deadHolder(3 * time.Second)
				end := time.Now().Add(3 * time.Second)
				first := w.waiting(ctx, w.client(lock.WithID("first")))
				newcomer := w.warm(lock.WithID("new"))
				time.Sleep(time.Until(end) - 15*time.Millisecond)
				var second <-chan *lock.Hold
				if waits {
					second = w.waiting(ctx, newcomer)
					time.Sleep(20 * time.Millisecond)
				} else {
					_, err := newcomer.NewFairLock("orders").Acquire(ctx, lock.Wait(0))
					wantErr(t, "a try of somebody who does not wait", err, lock.ErrBusy)
				}
				synctest.Wait()
				if to := w.owners("orders"); !slices.Equal(to, []string{"first::1"}) {
					t.Errorf("%v has the lock, want the first waiter", to)
				}
				h := <-first
				if d := time.Since(end); d > 5*time.Millisecond {
					t.Errorf("the first waiter has the lock after %v", d)
				}
				if waits {
					// The newcomer has read the rest of the hold, and does not look at
					// once.
					time.Sleep(500 * time.Millisecond)
					if n := w.looksOf("new::1"); n != 1 {
						t.Errorf("the newcomer looked %d times, want once, when it has subscribed", n)
					}
				}
				w.gives(h)
				if waits {
					w.gives(<-second)
				}
			})
		})
	}
}
