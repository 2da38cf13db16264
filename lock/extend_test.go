package lock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// The holder of an extended hold learns when the extension ends, as with a lease.
func TestExtend_endsWithALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := must[*lock.Hold](t)(w.client().Acquire(ctx, "orders", lock.Lease(2*time.Second)))
		start := time.Now()
		if err := h.Extend(ctx, 10*time.Second); err != nil {
			t.Fatal(err)
		}
		w.hung.Store(true)
		<-h.Lost()
		if d := time.Since(start); d < 9*time.Second || d > 10*time.Second {
			t.Errorf("told %v after an extension by 10s", d)
		}
		w.hung.Store(false)
	})
}

// An extension ends with its hold, while the answer is still on the way.
func TestExtend_endsWithItsHold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		start := time.Now()
		h := must[*lock.Hold](t)(w.client().Acquire(ctx, "orders", lock.Lease(time.Second)))
		w.setLatency(2 * time.Second)
		wantErr(t, "extend", h.Extend(ctx, time.Second), lock.ErrLost)
		if d := time.Since(start); d > time.Second {
			t.Errorf("it took %v, and the lease was 1s", d)
		}
		w.setLatency(time.Millisecond)
		time.Sleep(5 * time.Second) // what is under way arrives
	})
}

// An extension that arrives after its owner has given up the hold does not keep the lock
// from others for as long as it says.
func TestExtend_arrivesAfterTheLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client(lock.WithUnlockTimeout(time.Second))
		h := must[*lock.Hold](t)(c.Acquire(ctx, "orders", lock.Lease(10*time.Second)))
		if err := h.Extend(ctx, 10*time.Second); err != nil { // the server has the script from here on
			t.Fatal(err)
		}
		w.setLatency(9 * time.Second)
		wantErr(t, "extend", h.Extend(ctx, time.Hour), lock.ErrUnknown)
		<-h.Context().Done()
		w.setLatency(time.Millisecond)
		time.Sleep(20 * time.Second)
		if w.server.Exists("orders") {
			t.Error("the server has the lock long after the loss of its hold")
		}
		wantErr(t, "release", h.Release(ctx), lock.ErrLost)
	})
}

// A hold that ends while its extension is on its way is lost, whatever the answer is.
func TestExtend_leaseEndsOnTheWay(t *testing.T) {
	for name, trip := range map[string]time.Duration{
		"answered yes, after the end by the owner's clock": 150 * time.Millisecond,
		"answered no": 300 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				c := w.client()
				l := c.NewLock("orders", "a")
				start := time.Now()
				must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Second)))
				if err := l.Extend(ctx, 10*time.Second); err != nil { // the server has the script from here on
					t.Fatal(err)
				}
				time.Sleep(time.Until(start.Add(9800 * time.Millisecond)))
				w.setLatency(trip)
				wantErr(t, "extend", l.Extend(ctx, time.Minute), lock.ErrLost)
				w.setLatency(time.Millisecond)
				time.Sleep(time.Second)
				if w.server.Exists("orders") {
					t.Error("the extension keeps a lost lock from others")
				}
				_, err := l.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
				must[lock.Grant](t)(c.NewLock("orders", "b").TryLock(ctx))
			})
		})
	}
}

// An extension ends with its hold. The client notifies the owner of the loss while a server
// that is not ready makes the extension repeat. A later try would keep a lost lock from others.
func TestExtend_stopsWithTheLoss(t *testing.T) {
	for name, one := range map[string]struct {
		opts  []lock.AcquireOption
		after time.Duration // from the grant to the extension
		end   func(*world)
	}{
		"found by a renewal": {nil, 9900 * time.Millisecond, func(w *world) { w.server.Del("orders") }},
		"by the clock":       {[]lock.AcquireOption{lock.Lease(2 * time.Second)}, 1800 * time.Millisecond, func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				h := must[*lock.Hold](t)(w.client().Acquire(t.Context(), "orders", one.opts...))
				time.Sleep(one.after)
				var before, late atomic.Int32
				w.answers(func(p *server.Peer, cmd string, args ...string) bool {
					switch e := (entry{cmd: cmd, args: args}); {
					case e.renews() == "" || args[5] != "60000":
						return false
					case closed(h.Lost()):
						late.Add(1)
						p.WriteInt(1)
					default:
						before.Add(1)
						p.WriteError("TRYAGAIN not yet")
					}
					return true
				})
				one.end(w)
				wantErr(t, "extend", h.Extend(t.Context(), time.Minute), lock.ErrLost)
				if before.Load() < 2 || late.Load() > 0 {
					t.Errorf("%d tries before the loss, want 2 or more; %d after it", before.Load(), late.Load())
				}
				if h.Remaining() != 0 {
					t.Errorf("the hold goes on for %v", h.Remaining())
				}
				time.Sleep(time.Second)
				if w.server.Exists("orders") {
					t.Error("the lock is not free")
				}
			})
		})
	}
}

// The answer to an extension or to a nested acquire arrives at the instant of the deadline.
// The hold is lost, whatever comes first: the answer, or the timer of the client.
func TestExtend_answeredAtTheDeadline(t *testing.T) {
	for name, prolong := range map[string]func(context.Context, *lock.Reentrant) error{
		"Extend": func(ctx context.Context, l *lock.Reentrant) error { return l.Extend(ctx, time.Minute) },
		"Lock": func(ctx context.Context, l *lock.Reentrant) error {
			_, err := l.Lock(ctx, lock.Lease(time.Minute))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.loadScripts()
				c := w.client()
				for i := range 50 { // the order at one instant is by chance
					l := c.NewLock(fmt.Sprint("orders ", i), "a")
					g := must[lock.Grant](t)(l.Lock(t.Context(), lock.Lease(time.Second)))
					lost := l.Lost()
					time.Sleep(time.Until(g.Until) - w.latency())
					wantErr(t, name, prolong(t.Context(), l), lock.ErrLost)
					if !closed(lost) || l.Remaining() != 0 {
						t.Errorf("the hold goes on for %v", l.Remaining())
					}
				}
			})
		})
	}
}

// The answer to a renewal arrives at the instant of the deadline. The hold is lost, whatever
// comes first: the answer, or the timer of the client. The renewed lock is free again soon.
func TestWatchdog_answeredAtTheDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.loadScripts()
		c := w.client()
		for i := range 50 { // the order at one instant is by chance
			name := fmt.Sprint("orders ", i)
			h := must[*lock.Hold](t)(c.Acquire(t.Context(), name))
			deadline := time.Now().Add(h.Remaining())
			w.answers(func(p *server.Peer, cmd string, args ...string) bool {
				if (entry{cmd: cmd, args: args}).renews() != name {
					return false
				}
				left := time.Until(deadline)
				if left > 2*time.Second {
					p.WriteError("ERR not yet")
					return true
				}
				time.Sleep(left)
				return false
			})
			time.Sleep(time.Until(deadline) + 10*time.Millisecond)
			if !closed(h.Lost()) {
				t.Errorf("the hold goes on for %v", h.Remaining())
			}
			if w.server.Exists(name) {
				t.Error("the renewal keeps a lost lock from others")
			}
			wantErr(t, "release", h.Release(t.Context()), lock.ErrLost)
		}
	})
}

// An extension while another goroutine releases the hold says so, and that nothing is lost.
func TestExtend_duringTheRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := must[*lock.Hold](t)(w.client().Acquire(t.Context(), "orders"))
		if err := h.Extend(t.Context(), time.Minute); err != nil { // the server has the script from here on
			t.Fatal(err)
		}
		w.setLatency(100 * time.Millisecond)
		released := make(chan error)
		time.AfterFunc(10*time.Millisecond, func() { released <- h.Release(context.Background()) })
		wantErr(t, "extend", h.Extend(t.Context(), time.Minute), lock.ErrNotHeld)
		if err := <-released; err != nil || closed(h.Lost()) {
			t.Errorf("release: %v; lost: %v", err, closed(h.Lost()))
		}
	})
}

// An extension that finds the hold lost tells everybody who works under it.
func TestExtend_tellsOfALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var told atomic.Int32
		l := w.client(lock.WithObserver(lock.Observer{Lost: func(string, string, time.Duration) { told.Add(1) }})).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		work := l.Context(ctx)
		w.server.Del("orders")
		wantErr(t, "extend", l.Extend(ctx, time.Minute), lock.ErrLost)
		if context.Cause(work) != lock.ErrLost || told.Load() != 1 {
			t.Errorf("work ended with %v, and the observer was told %d times", context.Cause(work), told.Load())
		}
	})
}

// A process that extends or looks at its hold every second for years does not grow.
func TestReentrant_callsLeaveNothingBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.client().NewLock("orders", "a")
		calls := map[string]func(ctx context.Context) error{
			"Lock":   func(ctx context.Context) error { _, err := l.Lock(ctx); return err },
			"Extend": func(ctx context.Context) error { return l.Extend(ctx, time.Minute) },
			"TTL":    func(ctx context.Context) error { _, err := l.TTL(ctx); return err },
			"Context": func(ctx context.Context) error {
				work, cancel := context.WithCancel(ctx)
				l.Context(work)
				cancel()
				return nil
			},
			"Unlock": func(ctx context.Context) error { _, err := l.Unlock(ctx); return err },
		}
		type piece [64]byte
		type key struct{}
		for _, name := range []string{"Lock", "Extend", "TTL", "Context", "Unlock"} {
			var pieces []weak.Pointer[piece]
			for range 20 {
				p := new(piece)
				pieces = append(pieces, weak.Make(p))
				if err := calls[name](context.WithValue(t.Context(), key{}, p)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			runtime.GC()
			kept := 0
			for _, p := range pieces {
				if p.Value() != nil {
					kept++
				}
			}
			if kept > 0 {
				t.Errorf("%s: the contexts of %d of %d calls are still kept", name, kept, len(pieces))
			}
		}
	})
}

// At the instant of its deadline a hold is lost, whatever comes first: the timer of the
// client, or a call.
func TestHold_atItsDeadline(t *testing.T) {
	for name, call := range map[string]func(context.Context, *lock.Hold) error{
		"Release": func(ctx context.Context, h *lock.Hold) error { return h.Release(ctx) },
		"Extend":  func(ctx context.Context, h *lock.Hold) error { return h.Extend(ctx, time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.client()
				for i := range 50 { // the order at one instant is by chance
					h := must[*lock.Hold](t)(c.Acquire(t.Context(), fmt.Sprint("orders ", i), lock.Lease(time.Second)))
					time.Sleep(h.Remaining())
					wantErr(t, name, call(t.Context(), h), lock.ErrLost)
				}
				if slices.ContainsFunc(w.arrived(), func(e entry) bool { return e.renews() != "" }) {
					t.Error("the server was asked to prolong a lock that is lost")
				}
			})
		})
	}
}
