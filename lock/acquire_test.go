package lock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

func TestAcquire_leastLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.client().NewLock("orders", "a")
		w.setLatency(0)
		if _, err := l.TryLock(t.Context(), lock.Lease(time.Millisecond-1)); err == nil || len(w.calls(acquires)) != 0 {
			t.Errorf("less than a millisecond: %v, and %d requests", err, len(w.calls(acquires)))
		}
		for _, lease := range []time.Duration{time.Millisecond, 9 * time.Millisecond} {
			if g := must[lock.Grant](t)(l.TryLock(t.Context(), lock.Lease(lease))); g.Lease != lease {
				t.Errorf("granted for %v, want %v", g.Lease, lease)
			}
			must[int](t)(l.Unlock(t.Context()))
		}
	})
}

func TestAcquire_tellsThatTheLockIsBusy(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.deadHolder(time.Hour)
		var seen []string
		c := w.client(lock.WithObserver(lock.Observer{AcquireDone: func(_ context.Context, r lock.AcquireResult) {
			seen = append(seen, fmt.Sprint(r.Name, " ", r.Owner, " ", r.Busy))
		}}))
		_, err := c.NewLock("orders", "a").TryLock(t.Context())
		wantErr(t, "a try", err, lock.ErrBusy)
		_, err = c.NewLock("orders", "b").TryLock(t.Context(), lock.Wait(500*time.Millisecond))
		wantErr(t, "a wait", err, lock.ErrBusy)
		if want := []string{"orders a 1", "orders b 2"}; !slices.Equal(seen, want) {
			t.Errorf("the observer saw %q, want %q", seen, want)
		}
	})
}

// Close ends an acquire whose request gets no answer.
func TestClose_duringARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.warm()
		w.hung.Store(true)
		failed := make(chan error, 1)
		go func() {
			_, err := c.NewLock("orders", "a").Lock(t.Context())
			failed <- err
		}()
		time.Sleep(100 * time.Millisecond)
		closed := make(chan bool)
		start := time.Now()
		go func() {
			c.Close()
			close(closed)
		}()
		err := <-failed
		if !errors.Is(err, lock.ErrClosed) || !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("got %v, want that the client is closed and the outcome unknown", err)
		}
		if d := time.Since(start); d > 910*time.Millisecond {
			t.Errorf("it returned %v after Close; the try has 400ms left, and to take it back may take 500ms", d)
		}
		w.hung.Store(false)
		<-closed
	})
}

// An acquire of unknown outcome is not taken back yet. The owner's next acquire overrules
// it: there is one hold.
func TestAcquire_afterAnUnknownOutcome(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.loadScripts()
		l := w.clientOn(w.redis(noRetries), lock.WithID("a"), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "1")
		all := func(cmd string, _ []string) bool { return cmd == "evalsha" || cmd == "eval" }
		w.drop.Store(&all)
		_, err := l.TryLock(ctx)
		wantErr(t, "no answer", err, lock.ErrUnknown)
		gives := func(cmd string, args []string) bool {
			return all(cmd, args) && slices.Contains(args, "redisson_lock__channel:{orders}")
		}
		w.drop.Store(&gives)
		if g := must[lock.Grant](t)(l.TryLock(ctx)); g.Count != 1 {
			t.Errorf("%d holds, want one", g.Count)
		}
		w.drop.Store(nil)
		must[int](t)(l.Unlock(ctx))
	})
}

// The answer to an acquire is lost, and the lease ends before the request arrives once
// more. The owner has never had a hold that it could lose.
func TestAcquire_leaseEndsBeforeTheSecondTry(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.loadScripts()
		l := w.client(lock.WithID("a")).NewLock("orders", "1")
		w.dropReply("a:1", 1)
		_, err := l.TryLock(t.Context(), lock.Lease(2*time.Millisecond))
		wantErr(t, "a late answer", err, lock.ErrUnknown)
		if n := w.tries("a:1"); n != 2 {
			t.Errorf("the request arrived %d times, want twice", n)
		}
	})
}

// A request comes once more, and is the same hold with the same token: the owner need not
// ask again.
func TestAcquire_secondTryGetsTheSameAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.knowsFair()
		must[lock.Grant](t)(w.client(lock.WithFencing()).NewLock("orders", "x").Lock(ctx, lock.Lease(10*time.Millisecond)))
		w.loadScripts()
		time.Sleep(time.Second)
		c := w.client(lock.WithID("a"), lock.WithFencing())
		took := map[string]func() uint64{
			"a:1": func() uint64 {
				g := must[lock.Grant](t)(c.NewLock("orders", "1").Lock(ctx))
				must[int](t)(c.NewLock("orders", "1").Unlock(ctx))
				return g.Token
			},
			"a::1": func() uint64 {
				h := must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx))
				w.gives(h)
				return h.Token()
			},
		}
		for field, take := range took {
			w.dropReply(field, 1)
			token := take()
			var requests []entry
			for _, e := range append(w.calls(acquires), w.calls(fairAcquires)...) {
				if slices.Contains(e.args, field) {
					requests = append(requests, e)
				}
			}
			if len(requests) != 2 {
				t.Errorf("%s: %d requests, want the same one twice", field, len(requests))
			}
			if at := requests[0].at.UnixMicro(); token != uint64(at) {
				t.Errorf("%s: token %d, and the first request arrived at %dus", field, token, at)
			}
		}
	})
}

// A nested acquire is answered when the owner counts the hold below it as lost. The
// acquire reports that loss.
func TestAcquire_withinAHoldThatEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.loadScripts()
		w.setLatency(5 * time.Millisecond)
		l := w.warm(lock.WithID("a")).NewLock("orders", "1")
		start := time.Now()
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Second))) // for its owner, until 12ms before
		time.Sleep(time.Until(start.Add(985 * time.Millisecond)))
		_, err := l.TryLock(ctx, lock.Lease(time.Minute))
		wantErr(t, "a nested acquire", err, lock.ErrLost)
		_, err = l.Unlock(ctx)
		wantErr(t, "the release", err, lock.ErrLost)
		if w.server.Exists("orders") {
			t.Error("somebody has the lock")
		}
	})
}

// A nested acquire is answered late, and renewals have come through meanwhile. The hold
// lasts as long as they say.
func TestAcquire_renewalsOvertakeIt(t *testing.T) {
	for _, late := range []time.Duration{292 * time.Millisecond, time.Second} { // with a lease of 300ms
		t.Run(late.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				w.loadScripts()
				l := w.client(lock.WithWatchdogTimeout(300*time.Millisecond)).NewLock("orders", "a")
				must[lock.Grant](t)(l.Lock(ctx))
				lost := l.Lost()
				time.Sleep(time.Second)
				w.setLatency(late)
				failed := make(chan error, 1)
				go func() {
					_, err := l.TryLock(ctx)
					failed <- err
				}()
				synctest.Wait()
				w.setLatency(time.Millisecond)
				if err := <-failed; err != nil {
					t.Errorf("a nested acquire: %v", err)
				}
				time.Sleep(time.Second)
				if n := must[int](t)(l.HoldCount(ctx)); n != 2 || closed(lost) {
					t.Errorf("%d holds; known to be lost: %v", n, closed(lost))
				}
				for left := 1; left >= 0; left-- {
					if n := must[int](t)(l.Unlock(ctx)); n != left {
						t.Errorf("%d holds remain, want %d", n, left)
					}
				}
			})
		})
	}
}

// A nested acquire learns that the server has no hold any more. The owner learns of it in
// all ways.
func TestAcquire_findsALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var lost []string
		l := w.client(lock.WithObserver(lock.Observer{Lost: func(name, owner string, _ time.Duration) { lost = append(lost, name+" "+owner) }})).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		work := l.Context(ctx)
		w.server.Del("orders")
		_, err := l.TryLock(ctx)
		wantErr(t, "a nested acquire", err, lock.ErrLost)
		if !slices.Equal(lost, []string{"orders a"}) || context.Cause(work) != lock.ErrLost {
			t.Errorf("the observer was told of %q, and the context of %v", lost, context.Cause(work))
		}
		_, err = l.Unlock(ctx)
		wantErr(t, "the release", err, lock.ErrLost)
	})
}

// An error names its cause, unless that is the end of a context that the caller does not
// know.
func TestAcquire_errorNamesItsCause(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.loadScripts()
		all := func(cmd string, _ []string) bool { return cmd == "evalsha" }
		w.drop.Store(&all)
		_, err := w.clientOn(w.redis()).NewLock("orders", "a").TryLock(t.Context())
		if wantErr(t, "a connection that ends", err, lock.ErrUnknown); !errors.Is(err, io.EOF) {
			t.Errorf("%v does not name its cause", err)
		}
	})
}

func TestAcquire_withAContextThatHasEnded(t *testing.T) {
	inBothWays(t, "", func(t *testing.T, change func(*redis.Options)) {
		inBubble(t, func(t *testing.T, w *world) {
			w.loadScripts()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			c := w.clientOn(w.redis(change))
			before := len(w.arrived())
			_, err := c.NewLock("orders", "a").Lock(ctx)
			wantErr(t, "a named lock", err, context.Canceled)
			_, err = c.NewFairLock("orders").Acquire(ctx)
			wantErr(t, "the fair lock", err, context.Canceled)
			if n := len(w.arrived()) - before; n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	})
}
