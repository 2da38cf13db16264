package lock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// The subscription wakes one of all waiters when it is confirmed, and so does each
// message.
func TestSubscription_wakesOne(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.occupy("orders")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		asked := func(what string, want int, f func()) {
			t.Helper()
			start := time.Now()
			f()
			time.Sleep(100 * time.Millisecond)
			if got := w.seen(start, "evalsha", " orders "); len(got) != want {
				t.Errorf("%s: %d requests, want %d", what, len(got), want)
			}
		}
		asked("four waiters and one confirmation", 5, func() {
			for i := range 4 {
				waiting(ctx, t, c, "orders", fmt.Sprint(i))
			}
		})
		publish := func() { w.server.Publish("redisson_lock__channel:{orders}", "0") }
		asked("a message", 1, publish)
		asked("a message", 1, publish)
	})
}

// A waiter that is asking remembers one message. More of them would be the same news.
func TestSubscription_messagesInTheMeantime(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.occupy("orders")
		waiting(ctx, t, w.client(lock.WithSafetyPoll(time.Hour)), "orders", "a")
		time.Sleep(time.Second)
		w.setLatency(10 * time.Millisecond)
		start := time.Now()
		for range 6 {
			w.server.Publish("redisson_lock__channel:{orders}", "0")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		if got := w.seen(start, "evalsha", " orders "); len(got) != 2 {
			t.Errorf("asked at %v, want once for the first message and once for the others", got)
		}
	})
}

// A release may come between the answer to a waiter's first request and its place among
// the waiters. The waiter finds it, if the subscription was there before.
func TestSubscription_messageBeforeTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		const ms = time.Millisecond
		ctx := t.Context()
		w.occupy("orders")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		_, err := c.NewLock("orders", "a").TryLock(ctx, lock.Wait(100*ms))
		wantErr(t, "nobody releases", err, lock.ErrBusy)
		for _, l := range w.open() {
			l.back.Store(int64(20 * ms))
		}
		start := time.Now()
		granted := waiting(ctx, t, c, "orders", "b")
		time.Sleep(10 * ms)
		w.vacate("orders")
		soon(t, "released while it was told that the lock is busy", granted, start, 60*ms)
	})
}

// A waiter that leaves in between hands its message on, since no other got it.
func TestSubscription_refusedWaiterHandsTheMessageOn(t *testing.T) {
	for name, during := range map[string]bool{"told, then refused": false, "told during the request that is refused": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.occupy("orders")
				c := w.clientOn(w.redis(noRetries), lock.WithSafetyPoll(10*time.Second))
				errs := make(chan error, 1)
				go func() {
					_, err := c.NewLock("orders", "first").Lock(ctx)
					errs <- err
				}()
				time.Sleep(10 * time.Millisecond)
				second := waiting(ctx, t, c, "orders", "second")
				for i := range 3 {
					time.Sleep(10 * time.Millisecond)
					waiting(ctx, t, c, "orders", fmt.Sprint(i))
				}
				time.Sleep(time.Second)
				refused := make(chan time.Time, 1)
				w.answers(func(p *server.Peer, cmd string, args ...string) bool {
					if cmd != "EVALSHA" || !strings.Contains(strings.Join(args, " "), ":first") {
						return false
					}
					refused <- time.Now()
					if during { // it polls, and the release comes before the answer
						w.vacate("orders")
						time.Sleep(100 * time.Microsecond)
					}
					p.WriteError("NOPERM no permission")
					return true
				})
				if !during {
					w.vacate("orders")
				}
				wantErr(t, "the first", <-errs, lock.ErrRefused)
				start := <-refused
				soon(t, "the second", second, start, 5*time.Millisecond)
				time.Sleep(100 * time.Millisecond)
				if got := w.seen(start, "evalsha", " orders "); len(got) != 2 {
					t.Errorf("asked at %v, want the first and the second only", got)
				}
			})
		})
	}
}

// A waiter that leaves without a message costs the others no request.
func TestSubscription_leavesSilently(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.occupy("orders")
		c := w.client(lock.WithSafetyPoll(time.Hour))
		for i := range 3 {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			waiting(short, t, c, "orders", fmt.Sprint("leaves ", i))
			time.Sleep(10 * time.Millisecond)
		}
		waiting(ctx, t, c, "orders", "stays")
		time.Sleep(500 * time.Millisecond)
		start := time.Now()
		time.Sleep(5 * time.Second)
		if got := w.seen(start, "evalsha", ""); len(got) != 0 {
			t.Errorf("asked at %v", got)
		}
	})
}
