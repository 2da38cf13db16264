package lock_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// refuse makes the server answer all script calls with an error, until the end.
func (w *world) refuse() (end func()) {
	var over atomic.Bool
	w.answers(func(p *server.Peer, cmd string, _ ...string) bool {
		if over.Load() || !strings.HasPrefix(strings.ToLower(cmd), "eval") {
			return false
		}
		p.WriteError("MISCONF not now")
		return true
	})
	return func() { over.Store(true) }
}

// dropReleases loses the answers to all releases. A server that has the script carries
// them out.
func (w *world) dropReleases() {
	f := func(cmd string, args []string) bool { return entry{cmd: cmd, args: args}.releases() }
	w.drop.Store(&f)
}

// The client repeats a release soon after a hiccup of the server. After an outage it does
// so in about the same time as that has lasted, or in a second.
func TestUnlock_repeatsUntilTheServerAnswers(t *testing.T) {
	for _, outage := range []time.Duration{30 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second} {
		t.Run(outage.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				l := w.clientOn(w.redis(noRetries)).NewLock("orders", "a")
				must[lock.Grant](t)(l.Lock(ctx))
				time.AfterFunc(outage, w.refuse())
				start := time.Now()
				must[int](t)(l.Unlock(ctx))
				if late := time.Since(start) - outage; late > min(outage, time.Second)+50*time.Millisecond {
					t.Errorf("released %v after the end of the outage", late)
				}
			})
		})
	}
}

// An owner repeats the release of an inner hold, and the client goes on with it after each
// call. It does so once, however often the owner calls.
func TestUnlock_goesOnOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries)).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Hour)))
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Hour)))
		end := w.refuse()
		for range 5 {
			_, err := l.Unlock(ctx)
			wantErr(t, "refused", err, lock.ErrUnknown)
		}
		requests := func() int {
			return len(slices.DeleteFunc(w.arrived(), func(e entry) bool { return !e.releases() }))
		}
		before := requests()
		time.Sleep(10 * time.Second)
		if n := requests() - before; n < 9 || n > 11 {
			t.Errorf("%d requests in 10s, of a client that asks once a second", n)
		}
		end()
		time.Sleep(2 * time.Second)
		for left := 1; left >= 0; left-- {
			if n := must[int](t)(l.Unlock(ctx)); n != left {
				t.Errorf("%d holds remain, want %d", n, left)
			}
		}
	})
}

// A server that refuses everything gets no more than a few requests for each release.
func TestUnlock_doesNotFloodTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(5*time.Second)).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		end := w.refuse()
		start := time.Now()
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrUnknown)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("it took %v, want the unlock timeout of 5s", d)
		}
		n := 0
		for _, e := range w.arrived() {
			if e.releases() {
				n++
			}
		}
		if n > 10 {
			t.Errorf("%d requests in 5s", n)
		}
		end()
		must[int](t)(l.Unlock(ctx))
	})
}

// Beside an error, Unlock does not state holds that the owner does not have.
func TestUnlock_countsNothingBesideAnError(t *testing.T) {
	lockAll := func(ctx context.Context, t *testing.T, l *lock.Reentrant, opts ...lock.AcquireOption) {
		for range 3 {
			must[lock.Grant](t)(l.Lock(ctx, opts...))
		}
	}
	tests := []struct {
		name string
		do   func(ctx context.Context, t *testing.T, w *world, l *lock.Reentrant)
		want error
	}{
		{"nothing held", func(context.Context, *testing.T, *world, *lock.Reentrant) {}, lock.ErrNotHeld},
		{"lost by the clock", func(ctx context.Context, t *testing.T, w *world, l *lock.Reentrant) {
			lockAll(ctx, t, l, lock.Lease(time.Second))
			time.Sleep(2 * time.Second)
		}, lock.ErrLost},
		{"lost on the server", func(ctx context.Context, t *testing.T, w *world, l *lock.Reentrant) {
			lockAll(ctx, t, l)
			w.server.Del("orders")
		}, lock.ErrLost},
		{"an acquire without an answer is taken back", func(ctx context.Context, t *testing.T, w *world, l *lock.Reentrant) {
			w.hung.Store(true)
			_, err := l.TryLock(ctx)
			wantErr(t, "acquire", err, lock.ErrUnknown)
			time.Sleep(1400 * time.Millisecond) // the tries are over, and the next one is to come
			w.hung.Store(false)
		}, lock.ErrNotHeld},
		{"an acquire without an answer is still open", func(ctx context.Context, t *testing.T, w *world, l *lock.Reentrant) {
			w.hung.Store(true)
			_, err := l.TryLock(ctx)
			wantErr(t, "acquire", err, lock.ErrUnknown)
			time.Sleep(1400 * time.Millisecond)
		}, lock.ErrUnknown},
		{"an acquire is under way", func(ctx context.Context, t *testing.T, w *world, l *lock.Reentrant) {
			w.hung.Store(true)
			go l.TryLock(ctx)
			synctest.Wait()
		}, lock.ErrUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
				must[bool](t)(l.IsLocked(t.Context())) // it has a connection then
				tt.do(t.Context(), t, w, l)
				n, err := l.Unlock(t.Context())
				wantErr(t, "unlock", err, tt.want)
				if n != 0 {
					t.Errorf("unlock says that %d holds remain", n)
				}
				w.hung.Store(false)
			})
		})
	}
}

// An acquire first settles the release that was not answered. The hold of that release is
// no outer hold of the new one, and the others are still there.
func TestLock_afterAReleaseWithoutAnAnswer(t *testing.T) {
	for name, carriedOut := range map[string]bool{"lost answer": true, "lost request": false} {
		for depth := 1; depth <= 2; depth++ {
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					ctx := t.Context()
					l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
					must[lock.Grant](t)(l.Lock(ctx))
					must[int](t)(l.Unlock(ctx)) // the server has the scripts from here on
					for range depth {
						must[lock.Grant](t)(l.Lock(ctx))
					}
					lost := l.Lost()
					if w.hung.Store(!carriedOut); carriedOut {
						w.dropReleases()
					}
					_, err := l.Unlock(ctx)
					wantErr(t, "unlock without an answer", err, lock.ErrUnknown)
					w.hung.Store(false)
					w.drop.Store(nil)
					if g := must[lock.Grant](t)(l.TryLock(ctx)); g.Count != depth {
						t.Errorf("%d holds, one of %d released and one more taken", g.Count, depth)
					}
					if n := must[int](t)(l.HoldCount(ctx)); n != depth {
						t.Errorf("the server counts %d holds, want %d", n, depth)
					}
					if closed(lost) {
						t.Error("a hold was reported as lost")
					}
					if n := must[int](t)(l.Unlock(ctx)); n != depth-1 {
						t.Errorf("%d holds remain, want %d", n, depth-1)
					}
				})
			})
		}
	}
}

// A release has no answer. The owner's next acquire overrules it: that is a new hold.
func TestLock_whileAReleaseHasNoAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second), lock.WithFencing()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[int](t)(l.Unlock(ctx)) // the server has the scripts from here on
		first := must[lock.Grant](t)(l.Lock(ctx))
		w.hung.Store(true)
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrUnknown)
		w.hung.Store(false)
		if g := must[lock.Grant](t)(l.Lock(ctx)); g.Count != 1 || g.Token <= first.Token {
			t.Errorf("granted %+v after %+v", g, first)
		}
		time.Sleep(20 * time.Second)
		if n := must[int](t)(l.HoldCount(ctx)); n != 1 {
			t.Errorf("%d holds, want 1", n)
		}
		must[int](t)(l.Unlock(ctx))
	})
}

// An owner that has released a hold cannot lose it any more, with or without an answer.
func TestUnlock_withoutAnAnswerUntilTheLeaseEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var told atomic.Int32
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second),
			lock.WithObserver(lock.Observer{Lost: func(string, string, time.Duration) { told.Add(1) }})).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(3*time.Second)))
		lost := l.Lost()
		w.hung.Store(true)
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock on a hung server", err, lock.ErrUnknown)
		go l.IsLocked(ctx) // the owner has another call open when the lease ends
		time.Sleep(2500 * time.Millisecond)
		if l.Lost() != nil {
			t.Error("nothing is held, and may be lost")
		}
		w.hung.Store(false)
		if closed(lost) || told.Load() > 0 {
			t.Error("a hold that was released was reported as lost")
		}
		_, err = l.Unlock(ctx)
		wantErr(t, "unlock after the lease", err, lock.ErrNotHeld)
	})
}

// A release that is repeated when the server has forgotten it has succeeded before.
func TestUnlock_repeatedTooLate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second)).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[int](t)(l.Unlock(ctx)) // the server has the scripts from here on
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Minute)))
		lost := l.Lost()
		w.dropReleases()
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock without an answer", err, lock.ErrUnknown)
		w.drop.Store(nil)
		time.Sleep(time.Minute)
		must[int](t)(l.Unlock(ctx))
		if closed(lost) {
			t.Error("a hold that was released was reported as lost")
		}
		if g := must[lock.Grant](t)(l.TryLock(ctx)); g.Count != 1 {
			t.Errorf("%d holds, want 1", g.Count)
		}
		must[int](t)(l.Unlock(ctx))
	})
}

// The lease ends while the release is on its way: Unlock tells of the loss, for each hold.
func TestUnlock_leaseEndsOnTheWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		for range 2 {
			must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Second)))
		}
		time.Sleep(900 * time.Millisecond)
		w.setLatency(300 * time.Millisecond)
		n, err := l.Unlock(ctx)
		if wantErr(t, "unlock", err, lock.ErrLost); n != 0 {
			t.Errorf("%d holds remain, of a lost lock", n)
		}
		w.setLatency(time.Millisecond)
		_, err = l.Unlock(ctx)
		wantErr(t, "unlock of the outer hold", err, lock.ErrLost)
		_, err = l.Unlock(ctx)
		wantErr(t, "unlock again", err, lock.ErrNotHeld)
		if g := must[lock.Grant](t)(l.TryLock(ctx)); g.Count != 1 {
			t.Errorf("%d holds, want 1", g.Count)
		}
	})
}

// A renewal is under way when its hold is released, and arrives later. The release does
// not wait for it, and it renews nothing.
func TestUnlock_doesNotWaitForARenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[bool](t)(l.IsLocked(ctx))
		time.Sleep(9 * time.Second)
		w.setLatency(2 * time.Second)
		time.Sleep(1100 * time.Millisecond)
		w.setLatency(time.Millisecond)
		start := time.Now()
		must[int](t)(l.Unlock(ctx))
		if d := time.Since(start); d > 10*time.Millisecond {
			t.Errorf("the release took %v", d)
		}
		time.Sleep(5 * time.Second)
		var order []string
		for _, e := range w.arrived() {
			switch {
			case e.cmd != "EVALSHA":
			case e.renews() != "":
				order = append(order, "renewal")
			case e.releases():
				order = append(order, "release")
			}
		}
		if want := []string{"release", "renewal"}; !slices.Equal(order, want) || w.server.Exists("orders") {
			t.Errorf("%v arrived, want %v; locked: %v", order, want, w.server.Exists("orders"))
		}
	})
}
