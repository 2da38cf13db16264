package lock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// The lease of a hold ends while its release gets no answer. That must not take the
// process with it.
func TestUnlock_leaseEndsWhileAnAcquireIsTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second))
		a, b := c.NewLock("orders", "a"), c.NewLock("orders", "b")
		must[lock.Grant](t)(a.Lock(ctx, lock.Lease(2500*time.Millisecond)))
		w.hung.Store(true)
		_, err := a.TryLock(ctx, lock.Lease(2500*time.Millisecond)) // a second, and another until its compensation is given up
		wantErr(t, "nested acquire on a hung server", err, lock.ErrUnknown)
		time.Sleep(time.Second)
		_, err = a.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrUnknown)
		w.hung.Store(false)
		must[lock.Grant](t)(b.Lock(ctx))
		_, err = a.Unlock(ctx)
		wantErr(t, "unlock again", err, lock.ErrNotHeld)
	})
}

// The server executes renewals, and their owner hears of none. The owner loses its hold by
// the clock, and takes it back. So the lock is free before its lease on the server ends.
func TestLost_takesBackWhatUnheardRenewalsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := must[*lock.Hold](t)(w.clientOn(w.redis(noRetries)).Acquire(ctx, "orders"))
		time.Sleep(11 * time.Second) // the server has the script from here on
		lost := func(cmd string, args []string) bool { return entry{cmd: cmd, args: args}.renews() != "" }
		w.drop.Store(&lost)
		<-h.Lost()
		if ttl := w.server.TTL("orders"); ttl < 10*time.Second {
			t.Errorf("the lease on the server ends in %v: the test shows nothing", ttl)
		}
		time.Sleep(time.Second)
		if w.server.Exists("orders") {
			t.Error("the server has the lock a second after the loss")
		}
		wantErr(t, "release", h.Release(ctx), lock.ErrLost)
		wantErr(t, "second release", h.Release(ctx), lock.ErrNotHeld)
	})
}

// The release of an inner hold finds no lock on the server. The owner learns of that at
// once, and not only from the next renewal.
func TestUnlock_ofAnInnerHoldFindsTheLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[lock.Grant](t)(l.Lock(ctx))
		lost := l.Lost()
		w.server.Del("orders")
		_, err := l.Unlock(ctx)
		wantErr(t, "release of the inner hold", err, lock.ErrLost)
		if !closed(lost) {
			t.Error("the owner was not told of its loss")
		}
		_, err = l.Unlock(ctx)
		wantErr(t, "release of the outer hold", err, lock.ErrLost)
		_, err = l.Unlock(ctx)
		wantErr(t, "one release too many", err, lock.ErrNotHeld)
	})
}

// A grant may come too late to be of use. The caller has held nothing that it could have
// lost, and the outcome is as unknown as that of an acquire without an answer.
func TestLock_answerAfterTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		w.setLatency(200 * time.Millisecond)
		_, err := l.TryLock(ctx, lock.Lease(100*time.Millisecond))
		wantErr(t, "acquire", err, lock.ErrUnknown)
		if locked := must[bool](t)(l.IsLocked(ctx)); locked {
			t.Error("it was not taken back")
		}
	})
}

// An owner with an unknown release of an inner hold asks again, for as long as it takes.
// The outer hold must be there in the end, or be reported as lost. Otherwise the server
// would carry out twice a release that it has forgotten.
func TestUnlock_ofAnInnerHoldAgainAndAgain(t *testing.T) {
	for _, every := range []time.Duration{6 * time.Second, 25 * time.Second, 40 * time.Second} {
		t.Run(every.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
				must[lock.Grant](t)(l.Lock(ctx))
				must[int](t)(l.Unlock(ctx)) // the server has the script from here on
				must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Minute)))
				lost := l.Lost()
				must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Minute)))
				scripts := func(cmd string, _ []string) bool { return strings.HasPrefix(cmd, "eval") }
				w.drop.Store(&scripts) // requests arrive, and no answer does
				for range 4 {
					_, err := l.Unlock(ctx)
					if !w.server.Exists("orders") && !closed(lost) {
						t.Fatalf("the server has freed the lock, and its holder was not told (unlock: %v)", err)
					}
					time.Sleep(every)
				}
				w.drop.Store(nil)
				_, err := l.Unlock(ctx)
				if err == nil && !w.server.Exists("orders") || err != nil && !closed(lost) {
					t.Errorf("unlock: %v; known to be lost: %v", err, closed(lost))
				}
			})
		})
	}
}

// A slow network keeps renewals back behind nested acquires, whose own lease keeps
// the lock meanwhile. After their release the outer hold has that lease.
func TestLost_notWhileAnInnerLeaseLasts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client(lock.WithWatchdogTimeout(5*time.Second)).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		lost := l.Lost()
		w.setLatency(900 * time.Millisecond)
		for _, lease := range []time.Duration{20 * time.Second, 20 * time.Second, time.Second} {
			must[lock.Grant](t)(l.Lock(ctx, lock.Lease(lease)))
		}
		w.setLatency(time.Millisecond)
		for left := 3; left > 0; left-- {
			if n := must[int](t)(l.Unlock(ctx)); n != left {
				t.Errorf("%d holds remain, want %d", n, left)
			}
		}
		time.Sleep(time.Minute) // renewals come through again
		if closed(lost) {
			t.Error("the lock reported a loss")
		}
		must[int](t)(l.Unlock(ctx))
	})
}

// The release of an inner hold gives the outer one its whole lease, from the moment of
// the release on the server. That may have been an earlier try than the one that is
// answered.
func TestLost_countsFromTheFirstTryOfARelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
		for range 2 {
			must[lock.Grant](t)(l.Lock(ctx))
		}
		must[int](t)(l.Unlock(ctx)) // the server has the scripts from here on
		must[lock.Grant](t)(l.Lock(ctx))
		lost := l.Lost()
		w.dropReply("", 1)
		time.AfterFunc(1500*time.Microsecond, func() { w.hung.Store(true) })
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock without an answer", err, lock.ErrUnknown)
		time.Sleep(5 * time.Second)
		w.hung.Store(false)
		must[int](t)(l.Unlock(ctx))
		w.hung.Store(true)
		for w.server.Exists("orders") {
			time.Sleep(10 * time.Millisecond)
		}
		if !closed(lost) {
			t.Error("the lease has ended, and its holder was not told")
		}
	})
}

// A nested acquire that arrives once more, long after it was carried out, is
// still the same one.
func TestLock_nestedArrivesOnceMore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		for range 3 { // the last one by a script that the server has
			must[lock.Grant](t)(l.Lock(ctx, lock.Lease(2*time.Second), lock.Wait(time.Minute)))
		}
		all := w.arrived()
		i := slices.IndexFunc(all, func(e entry) bool { return strings.EqualFold(e.cmd, "evalsha") && e.args[len(e.args)-3] == "2" })
		if i < 0 {
			t.Fatal("the third acquire has not arrived")
		}
		must[lock.Grant](t)(l.Lock(ctx)) // keeps the lock
		for range 2 {
			time.Sleep(25 * time.Second)
			args := []any{"evalsha"}
			for _, a := range all[i].args {
				args = append(args, a)
			}
			must[any](t)(w.redis().Do(ctx, args...).Result())
			if count := w.server.HGet("orders", "client-1:a"); count != "4" {
				t.Fatalf("the server counts %s holds, want 4", count)
			}
		}
	})
}

// An acquire in an inner function must fail when the hold around it is lost. The outer
// one must report the loss, and not that there never was a hold.
func TestLost_staysUntilUnlockHasSaidSo(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(3*time.Second)))
		lost := l.Lost()
		w.hung.Store(true)
		<-lost
		w.hung.Store(false)
		time.Sleep(5 * time.Second)
		_, err := l.TryLock(ctx)
		wantErr(t, "inner acquire", err, lock.ErrLost)
		if l.Lost() != lost {
			t.Error("Lost is another channel before Unlock has said so")
		}
		_, err = l.Unlock(ctx)
		wantErr(t, "outer unlock", err, lock.ErrLost)
		must[lock.Grant](t)(l.TryLock(ctx))
		must[int](t)(l.Unlock(ctx))
	})
}

// A server may have something else in the place of a hold. That is an answer, and no
// reason to ask again.
func TestRelease_findsSomethingElse(t *testing.T) {
	for what, put := range map[string]func(w *world){
		"nothing":               func(*world) {},
		"a key of another type": func(w *world) { w.server.Set("orders", "something else") },
		"another owner's hold":  func(w *world) { w.deadHolder(time.Minute) },
	} {
		for _, fair := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fair %v", what, fair), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					ctx := t.Context()
					c := w.client()
					acquire := func() (*lock.Hold, error) { return c.Acquire(ctx, "orders") }
					if fair {
						acquire = func() (*lock.Hold, error) { return c.NewFairLock("orders").Acquire(ctx) }
					}
					h := must[*lock.Hold](t)(acquire())
					w.server.Del("orders")
					put(w)
					start := time.Now()
					wantErr(t, "release", h.Release(ctx), lock.ErrLost)
					if d := time.Since(start); d > 100*time.Millisecond {
						t.Errorf("took %v", d)
					}
				})
			})
		}
	}
}

// The release of an inner hold has no answer, and then somebody deletes the key. The
// owner's next request finds that, and its next release reports the loss, once.
func TestLost_afterAnInnerRelease(t *testing.T) {
	for name, find := range map[string]func(context.Context, *lock.Reentrant) error{
		"found by the repeated release": nil,
		"found by a nested acquire": func(ctx context.Context, l *lock.Reentrant) error {
			_, err := l.TryLock(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
				for range 2 {
					must[lock.Grant](t)(l.Lock(ctx))
				}
				lost := l.Lost()
				w.hung.Store(true)
				_, err := l.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrUnknown)
				w.hung.Store(false)
				w.server.Del("orders")
				if find != nil {
					wantErr(t, name, find(ctx, l), lock.ErrLost)
				}
				_, err = l.Unlock(ctx)
				wantErr(t, "unlock again", err, lock.ErrLost)
				_, err = l.Unlock(ctx)
				wantErr(t, "unlock of the outer hold", err, lock.ErrLost)
				_, err = l.Unlock(ctx)
				wantErr(t, "unlock once more", err, lock.ErrNotHeld)
				if !closed(lost) {
					t.Error("the loss was not notified")
				}
			})
		})
	}
}
