package lock_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// A connection on which nothing happens costs a ping in ten seconds, however long somebody
// waits.
func TestSubscribe_pingsSeldom(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.occupy("orders")
		_, err := w.client().Acquire(t.Context(), "orders", lock.Wait(5*time.Minute))
		wantErr(t, "wait", err, lock.ErrBusy)
		if n := len(w.seen(time.Time{}, "ping", "")); n < 25 || n > 31 {
			t.Errorf("%d pings in five minutes, want one in ten seconds", n)
		}
	})
}

// A user without the right to subscribe waits for one lock after another. The client forgets
// the name of a lock after its last waiter.
func TestSubscribe_refusedKeepsNoNames(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		w.answers(func(p *server.Peer, cmd string, args ...string) bool {
			switch {
			case cmd == "SUBSCRIBE":
				p.WriteError("NOPERM this user has no permissions to run the 'subscribe' command")
			case strings.HasPrefix(cmd, "EVAL") && strings.Contains(args[len(args)-6], ":"): // an acquire
				p.Block(func(w *server.Writer) { w.WriteLen(2); w.WriteBulk("busy"); w.WriteInt(-1) })
			default:
				return false
			}
			return true
		})
		used := func() uint64 {
			w.mu.Lock()
			w.log = nil
			w.mu.Unlock()
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		const names, size = 300, 10_000
		wait := func(i int) {
			_, err := c.Acquire(t.Context(), fmt.Sprint(i, strings.Repeat("x", size)), lock.Wait(50*time.Millisecond))
			wantErr(t, "wait", err, lock.ErrBusy)
		}
		wait(0)
		before := used()
		for i := range names {
			wait(i + 1)
		}
		if after := used(); after > before+names*size/4 {
			t.Errorf("the client has grown by %d bytes after %d names of %d bytes", after-before, names, size)
		}
	})
}

// Somebody outside of the queue frees the lock, while the answer "busy" is on its way to a new
// waiter. The subscriptions of an earlier waiter are still there, so no confirmation will wake
// the new one. It looks by itself, and does not lose a whole poll.
func TestFair_freedWhileTheAnswerIsOnItsWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.occupy("orders")
		w.knowsBusy()
		c := w.client().NewFairLock("orders")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Acquire(ctx, lock.Wait(500*time.Millisecond))
		wantErr(t, "an earlier waiter", err, lock.ErrBusy)
		for _, l := range w.open() {
			l.back.Store(int64(100 * time.Millisecond))
		}
		time.AfterFunc(50*time.Millisecond, func() { w.vacate("orders") })
		start := time.Now()
		h := must[*lock.Hold](t)(c.Acquire(ctx))
		if d := time.Since(start); d > 400*time.Millisecond {
			t.Errorf("granted after %v", d)
		}
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// knowsBusy gives the server the scripts of a fair lock that somebody else holds.
func (w *world) knowsBusy() {
	w.t.Helper()
	_, err := w.client().NewFairLock("orders").Acquire(w.t.Context(), lock.Wait(3*time.Second))
	wantErr(w.t, "warm up", err, lock.ErrBusy)
}

// Two tries of a release get no answer. The third one follows within half of the unlock
// timeout, and says that the lock is free.
func TestRelease_thirdTry(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := must[*lock.Hold](t)(w.client().Acquire(t.Context(), "orders"))
		w.hung.Store(true)
		time.AfterFunc(700*time.Millisecond, func() { w.hung.Store(false) })
		start := time.Now()
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > 2500*time.Millisecond {
			t.Errorf("it took %v, and the unlock timeout is 5s", d)
		}
	})
}
