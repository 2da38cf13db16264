package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// A waiter goes in without a question while at least a quarter of the lease is left when
// the message arrives.
func TestFair_asksFirstWhenLittleIsLeft(t *testing.T) {
	for _, f := range []struct {
		left  time.Duration // of a lease of 8s
		asked int
	}{{7 * time.Second, 1}, {2 * time.Second, 1}, {2*time.Second - time.Millisecond, 2}, {300 * time.Millisecond, 2}} {
		t.Run(f.left.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				h := w.fairHolder()
				// A place outlasts the lease, and no look comes in between.
				got := w.waiting(t.Context(), w.client(lock.WithID("a"), lock.WithWatchdogTimeout(8*time.Second), lock.WithSafetyPoll(11*time.Second)))
				sent := w.next(fairLooks).at.Add(-w.latency())
				time.Sleep(time.Until(sent.Add(8*time.Second - f.left - w.latency())))
				w.gives(h)
				w.gives(<-got)
				if n := w.asked("a::1"); n != f.asked {
					t.Errorf("it asked %d times, want %d", n, f.asked)
				}
			})
		})
	}
}

// A hold that was handed on counts from the look that the server had seen.
func TestFair_aHandOffCountsFromTheLastLook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		got := w.waiting(t.Context(), w.client(lock.WithID("a")))
		var ends time.Time // of the place
		for range 3 {
			ends = w.next(fairLooks).at.Add(3*time.Second - w.latency())
		}
		time.Sleep(300 * time.Millisecond)
		w.gives(h)
		h = <-got
		if d := time.Now().Add(h.Remaining()); d.After(ends) || d.Before(ends.Add(-100*time.Millisecond)) {
			t.Errorf("it counts on the lock until %v, and the place ends at %v", d, ends)
		}
		w.gives(h)
	})
}

// A hand-off and a look may pass each other. The waiter keeps a record of the look before, which
// the hand-off names, and goes in without a question.
func TestFair_aHandOffPassesALook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		got := w.waiting(t.Context(), w.client(lock.WithID("a")))
		for range 3 {
			w.next(fairLooks)
		}
		w.answerScripts(2+5+5+1, 1000, 1) // this look is answered, and does not reach the queue
		w.next(fairLooks)
		w.answers(func(*server.Peer, string, ...string) bool { return false })
		asked := w.asked("a::1")
		w.gives(h)
		h = <-got
		if w.asked("a::1") != asked {
			t.Error("the waiter asked for the lock that it had been handed")
		}
		w.gives(h)
	})
}

// The lock may be handed to a waiter that has not looked yet. Its first request counts.
func TestFair_aHandOffBeforeTheFirstLook(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		w.setLatency(20 * time.Millisecond)
		got := w.waiting(t.Context(), w.client(lock.WithID("a")))
		for w.count("SUBSCRIBE holdfast_fair:{orders}:a") == 0 {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		w.setLatency(5 * time.Millisecond)
		start := time.Now()
		w.gives(h)
		h = <-got
		if d := time.Since(start); d != w.latency() || w.looksOf("a::1") != 0 || w.asked("a::1") != 1 {
			t.Errorf("granted after %v, %d looks and %d acquires", d, w.looksOf("a::1"), w.asked("a::1"))
		}
		w.gives(h)
	})
}

// A message may be about an earlier place of the same owner. Then the waiter asks the
// server. It ignores what is no hand-off of its own.
func TestFair_aMessageThatIsNoHandOff(t *testing.T) {
	for message, asked := range map[string]int{
		"12345:67:a::1":  2,
		"12345:67:a::2":  1,
		"12345:67":       1,
		"x:67:a::1":      1,
		"12345:x:a::1":   1,
		"-1:67:a::1":     1,
		"0":              1,
		"12345:67:a::1:": 1,
	} {
		t.Run(message, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				h := w.fairHolder()
				got := w.waiting(t.Context(), w.client(lock.WithID("a")))
				w.next(fairLooks)
				behind := w.waiting(t.Context(), w.client(lock.WithID("b")))
				w.next(fairLooks)
				w.server.Publish("holdfast_fair:{orders}:a", message)
				time.Sleep(100 * time.Millisecond)
				select {
				case <-got:
					t.Fatal("it took the message for the lock")
				default:
				}
				if n := w.asked("a::1"); n != asked {
					t.Errorf("it asked %d times, want %d", n, asked)
				}
				if queue := w.queued(); !slices.Equal(queue, []string{"a::1", "b::1"}) {
					t.Errorf("%v wait", queue)
				}
				w.gives(h)
				w.gives(<-got)
				w.gives(<-behind)
			})
		})
	}
}

// An observer learns of a hold that was handed on as of any other.
func TestFair_observer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.fairHolder()
		var seen []string
		var grant lock.Grant
		got := w.waiting(t.Context(), w.client(lock.WithID("a"), lock.WithObserver(lock.Observer{
			AcquireDone: func(_ context.Context, r lock.AcquireResult) {
				grant = r.Grant
				seen = append(seen, fmt.Sprint(r.Name, r.Owner, " busy ", r.Busy, ", ", r.Err))
			},
		})))
		w.next(fairLooks)
		w.gives(h)
		h = <-got
		if want := []string{"orders:1 busy 1, <nil>"}; !slices.Equal(seen, want) {
			t.Errorf("the observer saw %q, want %q", seen, want)
		}
		if want := (lock.Grant{Count: 1, Token: h.Token(), Lease: 30 * time.Second, Renewed: true}); grant != want {
			t.Errorf("granted %+v, want %+v", grant, want)
		}
		w.gives(h)
	})
}

func TestFair_do(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := w.fairHolder()
		l := w.client(lock.WithID("a")).NewFairLock("orders")
		failure := errors.New("work failed")
		called := 0
		work := func(_ context.Context, h *lock.Hold) error {
			called++
			if held := w.owners("orders"); !slices.Equal(held, []string{"a::1"}) || h.Token() == 0 {
				t.Errorf("%v has the lock while a works with token %d", held, h.Token())
			}
			return failure
		}
		wantErr(t, "a wait in vain", l.Do(ctx, work, lock.Wait(time.Second)), lock.ErrBusy)
		if called != 0 {
			t.Error("it works without the lock")
		}
		w.gives(h)
		if err := l.Do(ctx, work); err != failure || called != 1 {
			t.Errorf("called %d times: %v", called, err)
		}
		if w.server.Exists("orders") {
			t.Error("the lock was not released")
		}
	})
}

// The server refuses a request. One that made no place needs no leave. A waiter that may
// have the lock by then gives it up.
func TestFair_refused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.knowsFair()
		c := w.warm(lock.WithID("a"))
		leaves := len(w.leaves())
		w.server.Set("orders", "something else")
		start := time.Now()
		_, err := c.NewFairLock("orders").Acquire(ctx)
		wantErr(t, "a key of another type", err, lock.ErrRefused)
		if n, d := len(w.leaves())-leaves, time.Since(start); n != 0 || d != w.latency() {
			t.Errorf("it left %d times a queue in which it was not, and returned after %v", n, d)
		}
		w.server.Del("orders")

		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		failed := make(chan error, 1)
		go func() {
			_, err := c.NewFairLock("orders").Acquire(ctx, lock.Lease(10*time.Second)) // it asks when the lock is handed to it
			failed <- err
		}()
		w.next(fairLooks)
		w.gives(h)
		synctest.Wait()
		if to := w.owners("orders"); !slices.Equal(to, []string{"a::1"}) {
			t.Fatalf("%v has the lock", to)
		}
		w.server.Del(tokenKey)
		w.server.Lpush(tokenKey, "something else")
		wantErr(t, "a token of another type", <-failed, lock.ErrRefused)
		if w.server.Exists("orders") {
			t.Error("it has the lock, and nobody knows")
		}
	})
}

// A waiter has been handed the lock, and asks the server, when its wait ends. It has been
// refused before, and gives up what it may have: the outcome is known.
func TestFair_aWaitEndsDuringAQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := w.fairHolder()
		w.setLatency(30 * time.Millisecond)
		c := w.warm(lock.WithID("a"))
		failed := make(chan error, 1)
		go func() {
			_, err := c.NewFairLock("orders").Acquire(ctx, lock.Lease(10*time.Second), lock.Wait(2*time.Second))
			failed <- err
		}()
		time.Sleep(1950 * time.Millisecond)
		w.gives(h)
		if w.asked("a::1") != 1 {
			t.Fatal("it has asked already")
		}
		wantErr(t, "a wait that ends", <-failed, lock.ErrBusy)
		if w.asked("a::1") != 2 || w.server.Exists("orders") {
			t.Errorf("it asked %d times; somebody has the lock: %v", w.asked("a::1"), w.server.Exists("orders"))
		}
	})
}

// A token is the time of the server, or one more than the last one: so tokens grow though
// the clock goes back.
func TestFair_tokens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.knowsFair()
		c := w.client()
		h := must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx))
		e := w.calls(fairAcquires)
		if at := e[len(e)-1].at.UnixMicro(); h.Token() != uint64(at) {
			t.Errorf("token %d, and the server's time is %dus", h.Token(), at)
		}
		got := w.waiting(ctx, w.client())
		w.next(fairLooks)
		w.gives(h)
		h = <-got
		e = w.calls(fairReleases)
		if at := e[len(e)-1].at.UnixMicro(); h.Token() != uint64(at) {
			t.Errorf("token %d of a hand-off, and the server's time is %dus", h.Token(), at)
		}
		w.gives(h)

		last := uint64(time.Now().Add(time.Hour).UnixMicro())
		w.server.Set(tokenKey, fmt.Sprint(last))
		h = must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx))
		if h.Token() != last+1 {
			t.Errorf("token %d after %d", h.Token(), last)
		}
		got = w.waiting(ctx, w.client())
		w.next(fairLooks)
		w.gives(h)
		if h = <-got; h.Token() != last+2 {
			t.Errorf("token %d of a hand-off after %d", h.Token(), last+1)
		}
		w.gives(h)
	})
}

// A release that finds the queue empty notifies those who wait for the lock outside of
// it, as users of Client.Acquire do. One that hands the lock on does not wake them.
func TestFair_releaseWakesAWaiterOutsideTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.knowsFair()
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		outside := make(chan time.Time, 1)
		other := w.client(lock.WithID("outside"), lock.WithSafetyPoll(time.Hour))
		go func() {
			h := must[*lock.Hold](t)(other.Acquire(ctx, "orders"))
			outside <- time.Now()
			w.gives(h)
		}()
		got := w.waiting(ctx, w.client())
		w.next(fairLooks)
		time.Sleep(3 * time.Second)
		tries := w.count("outside")
		w.gives(h)
		h = <-got
		time.Sleep(time.Second)
		if n := w.count("outside") - tries; n != 0 {
			t.Errorf("a hand-off made it try %d times", n)
		}
		w.gives(h)
		released := time.Now().Add(-w.latency())
		if d := (<-outside).Sub(released); d > 2*w.latency() {
			t.Errorf("granted %v after the release", d)
		}
		time.Sleep(time.Second)
	})
}

// A hold that was handed on is one hold: its release ends it, and nothing renews it after.
func TestFair_releaseOfAHandOff(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		first, second := w.client().NewFairLock("orders"), w.client().NewFairLock("orders")
		h := must[*lock.Hold](t)(first.Acquire(ctx))
		time.AfterFunc(3*time.Second, func() { h.Release(ctx) })
		h2 := must[*lock.Hold](t)(second.Acquire(ctx))
		if err := h2.Release(ctx); err != nil || w.server.Exists("orders") {
			t.Errorf("release: %v; held: %v", err, w.server.Exists("orders"))
		}
		time.Sleep(time.Minute)
		if cause := context.Cause(h2.Context()); cause != lock.ErrNotHeld || closed(h2.Lost()) {
			t.Errorf("the hold ended with %v; lost: %v", cause, closed(h2.Lost()))
		}
		wantErr(t, "second release", h2.Release(ctx), lock.ErrNotHeld)
	})
}
