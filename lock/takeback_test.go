package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A server that is slow to answer gets more time with each try of a compensation. So
// the owner goes on when the server has answered, and not when all tries have failed.
func TestLock_isTakenBackFromASlowServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(10*time.Second)).NewLock("orders", "a")
		w.loadScripts()
		var wg sync.WaitGroup
		for range 5 { // connections that the requests below find
			wg.Go(func() { must[bool](t)(l.IsLocked(ctx)) })
		}
		wg.Wait()
		w.setLatency(1200 * time.Millisecond) // the first try gets a second
		start := time.Now()
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if _, err := l.TryLock(short); !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("an acquire without an answer: %v", err)
		}
		must[lock.Grant](t)(l.TryLock(ctx))
		if d := time.Since(start); d > 6*time.Second {
			t.Errorf("the next acquire took until %v after the first", d)
		}
	})
}

// Owners that are calls share few notes on the server, whatever becomes of the call.
func TestAcquire_usesTheNumberAgain(t *testing.T) {
	unanswered := func(t *testing.T, c *lock.Client, opts ...lock.AcquireOption) {
		t.Helper()
		_, err := c.Acquire(t.Context(), "orders", append(opts, lock.Wait(0))...)
		wantErr(t, "an acquire without an answer", err, lock.ErrUnknown)
	}
	lostOne := func(t *testing.T, c *lock.Client, lose func(h *lock.Hold)) {
		t.Helper()
		h := must[*lock.Hold](t)(c.Acquire(t.Context(), "orders"))
		if lose(h); !closed(h.Lost()) {
			t.Error("the hold is not lost: the test shows nothing")
		}
	}
	for name, use := range map[string]func(t *testing.T, w *world, c *lock.Client){
		"taken back at once": func(t *testing.T, w *world, c *lock.Client) {
			w.loadScripts()
			w.loseAnswers("holdfast_lock_note:{orders}:client-1::1 client-1")
			unanswered(t, c)
			w.drop.Store(nil)
			time.Sleep(time.Second)
		},
		"taken back after the call": func(t *testing.T, w *world, c *lock.Client) {
			w.hung.Store(true)
			unanswered(t, c)
			w.hung.Store(false)
			time.Sleep(4 * time.Second)
		},
		"taken back when the server is back": func(t *testing.T, w *world, c *lock.Client) {
			w.hung.Store(true)
			unanswered(t, c)
			time.Sleep(10 * time.Second)
			w.hung.Store(false)
			time.Sleep(3 * time.Second)
		},
		"never taken back": func(t *testing.T, w *world, c *lock.Client) {
			w.hung.Store(true)
			unanswered(t, c, lock.Lease(8*time.Second))
			time.Sleep(40 * time.Second)
			w.hung.Store(false)
		},
		"lost, as a renewal found": func(t *testing.T, w *world, c *lock.Client) {
			lostOne(t, c, func(h *lock.Hold) {
				w.server.Del("orders")
				<-h.Lost()
			})
		},
		"lost, as an extension found": func(t *testing.T, w *world, c *lock.Client) {
			lostOne(t, c, func(h *lock.Hold) {
				w.server.Del("orders")
				wantErr(t, "extend", h.Extend(t.Context(), time.Minute), lock.ErrLost)
			})
		},
		"forced": func(t *testing.T, w *world, c *lock.Client) {
			lostOne(t, c, func(*lock.Hold) {
				must[bool](t)(c.NewLock("orders", "admin").ForceUnlock(t.Context()))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				last := ""
				c := w.clientOn(w.redis(noRetries), lock.WithObserver(lock.Observer{
					AcquireDone: func(_ context.Context, r lock.AcquireResult) { last = r.Owner },
				}))
				must[bool](t)(c.NewLock("orders", "admin").IsLocked(t.Context())) // else a request is not even written
				use(t, w, c)
				must[*lock.Hold](t)(c.Acquire(t.Context(), "orders", lock.Wait(0)))
				if last != ":1" {
					t.Errorf("the next call is owner %q, want the first number again", last)
				}
			})
		})
	}
}

// A request for a place in the queue is open when the wait ends. The client takes it back
// once, and the call returns with the answer to that.
func TestFair_takesAPlaceBackOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		l := w.client().NewFairLock("orders")
		for range 2 { // the first time, the server gets to know the scripts
			before := 0
			for _, e := range w.arrived() {
				if e.script() {
					before++
				}
			}
			w.setLatency(100 * time.Millisecond)
			start := time.Now()
			_, err := l.Acquire(ctx, lock.Wait(50*time.Millisecond))
			if !errors.Is(err, lock.ErrBusy) && !errors.Is(err, lock.ErrUnknown) && !errors.Is(err, lock.ErrRefused) {
				t.Fatal(err)
			}
			took := time.Since(start)
			w.setLatency(time.Millisecond)
			time.Sleep(time.Second)
			sent := -before
			for _, e := range w.arrived() {
				if e.script() {
					sent++
				}
			}
			if before > 2 && (sent != 2 || took > 160*time.Millisecond) {
				t.Errorf("%d requests in %v, want the one for a place and the one that gives it up", sent, took)
			}
		}
	})
}
