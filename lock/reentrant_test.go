package lock_test

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/holdfast-go/holdfast/lock"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	for _, other := range []error{lock.ErrBusy, lock.ErrNotHeld, lock.ErrLost, lock.ErrUnknown, lock.ErrAcks, lock.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if other != want && errors.Is(err, other) {
			t.Errorf("%s: %v is also %v", what, err, other)
		}
	}
}

func TestReentrant_countsAndErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		a, same, b := c.NewLock("orders", "a"), c.NewLock("orders", "a"), c.NewLock("orders", "b")

		_, err := a.Unlock(ctx)
		wantErr(t, "unlock before lock", err, lock.ErrNotHeld)
		if a.Lost() != nil || a.Context(ctx).Err() == nil {
			t.Error("a lock that is not held has a hold to lose")
		}
		if g := must[lock.Grant](t)(a.Lock(ctx)); g.Count != 1 || g.Lease != 30*time.Second || !g.Renewed {
			t.Errorf("first grant %+v", g)
		}
		// Two views of one owner must not count apart, or the inner one would
		// release the outer one's hold.
		if g := must[lock.Grant](t)(same.TryLock(ctx)); g.Count != 2 {
			t.Errorf("grant to the other view %+v", g)
		}
		_, err = b.TryLock(ctx)
		wantErr(t, "try held lock", err, lock.ErrBusy)
		_, err = b.Unlock(ctx)
		wantErr(t, "unlock another's lock", err, lock.ErrNotHeld)
		for _, l := range []*lock.Reentrant{a, b} {
			if locked := must[bool](t)(l.IsLocked(ctx)); !locked {
				t.Error("held lock is not locked")
			}
			if ttl := must[time.Duration](t)(l.TTL(ctx)); ttl < 29*time.Second || ttl > 30*time.Second {
				t.Errorf("TTL %v", ttl)
			}
		}
		if n := must[int](t)(a.HoldCount(ctx)); n != 2 {
			t.Errorf("hold count %d, want 2", n)
		}
		if n := must[int](t)(b.HoldCount(ctx)); n != 0 {
			t.Errorf("hold count of another owner %d, want 0", n)
		}
		if n := must[int](t)(a.Unlock(ctx)); n != 1 {
			t.Errorf("%d holds remain, want 1", n)
		}
		if n := must[int](t)(same.Unlock(ctx)); n != 0 {
			t.Errorf("%d holds remain, want 0", n)
		}
		if ttl := must[time.Duration](t)(a.TTL(ctx)); ttl != 0 {
			t.Errorf("TTL of a free lock %v", ttl)
		}
		must[lock.Grant](t)(b.TryLock(ctx))
		must[int](t)(b.Unlock(ctx))
	})
}

// A Java service reads these keys: what Redisson 3.x writes, byte by byte.
func TestReentrant_wireFormat(t *testing.T) {
	tests := []struct{ name, channel, note string }{
		{"orders", "redisson_lock__channel:{orders}", "holdfast_lock_note:{orders}:"},
		{"orders:{42}", "redisson_lock__channel:orders:{42}", "holdfast_lock_note::11:orders:{42}:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				l := w.client(lock.WithID("uuid")).NewLock(tt.name, "7")
				sub := w.redis().Subscribe(ctx, tt.channel)
				defer sub.Close()
				must[any](t)(sub.Receive(ctx))
				must[lock.Grant](t)(l.Lock(ctx))
				must[lock.Grant](t)(l.Lock(ctx))
				hash := must[map[string]string](t)(w.redis().HGetAll(ctx, tt.name).Result())
				delete(hash, "hold")
				delete(hash, "last")
				if !maps.Equal(hash, map[string]string{"uuid:7": "2"}) {
					t.Errorf("the hash is %v, and not Redisson's", hash)
				}
				must[int](t)(l.Unlock(ctx))
				must[int](t)(l.Unlock(ctx))
				msg, err := sub.ReceiveMessage(ctx)
				if err != nil || msg.Payload != "0" {
					t.Errorf("release announced as %v, %v, want 0", msg, err)
				}
				if n := w.count(tt.note); n == 0 {
					t.Errorf("no request names %q", tt.note)
				}
				time.Sleep(61 * time.Second)
				if keys := w.server.Keys(); len(keys) != 0 {
					t.Errorf("left behind: %q", keys)
				}
			})
		})
	}
}

// A lock of Redisson's own keeps us out and lets us in when it is released.
func TestReentrant_waitsForRedisson(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.server.HSet("orders", "java:1", "1")
		l := w.client().NewLock("orders", "a")
		_, err := l.TryLock(ctx, lock.Wait(3*time.Second)) // its TTL is -1
		wantErr(t, "lock without expiry", err, lock.ErrBusy)
		start := time.Now()
		time.AfterFunc(5300*time.Millisecond, func() {
			w.server.Del("orders")
			w.server.Publish("redisson_lock__channel:{orders}", "0")
		})
		must[lock.Grant](t)(l.Lock(ctx))
		if d := time.Since(start); d > 5310*time.Millisecond {
			t.Errorf("granted %v after Redisson's release at 5.3s", d)
		}
	})
}

func TestReentrant_refusesBadNames(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		for _, l := range [][2]string{{"", "a"}, {"x", ""}, {"a}b", "a"}, {"a{b", "a"}, {"{}a", "a"}, {"}{a", "a"}} {
			if _, err := c.NewLock(l[0], l[1]).TryLock(t.Context()); err == nil {
				t.Errorf("%q locked by %q: its keys would be in different slots", l[0], l[1])
			}
		}
		must[lock.Grant](t)(w.client(lock.WithKeyPrefix("app:")).NewLock("x", "a").TryLock(t.Context()))
		if !w.server.Exists("app:x") {
			t.Error("the key has no prefix")
		}
	})
}

// Which lease is left decides whether someone else gets in while the outer
// work goes on.
func TestReentrant_leases(t *testing.T) {
	const long, short = 10 * time.Second, 2 * time.Second
	type step struct {
		lease  time.Duration // lock with it; 0: the watchdog's
		unlock bool
		sleep  time.Duration
		ttl    time.Duration // afterwards, to 10ms
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"explicit", []step{{lease: short, ttl: short}, {sleep: time.Second, ttl: time.Second}}},
		{"shorter inside longer", []step{{lease: long, ttl: long}, {lease: short, ttl: long}, {unlock: true, ttl: long}}},
		{"longer inside shorter", []step{{lease: short, ttl: short}, {lease: long, ttl: long}, {unlock: true, ttl: long}}},
		{"explicit inside renewed", []step{{ttl: 30 * time.Second}, {lease: short, ttl: 30 * time.Second}, {unlock: true, ttl: 30 * time.Second}, {sleep: 101 * time.Second, ttl: 29 * time.Second}}},
		{"renewed inside explicit", []step{{lease: long, ttl: long}, {ttl: 30 * time.Second}, {sleep: 4 * time.Second, ttl: 26 * time.Second}, {unlock: true, ttl: 26 * time.Second}}},
		{"renewed inside run out", []step{{lease: short, ttl: short}, {ttl: 30 * time.Second}, {sleep: 61 * time.Second, ttl: 29 * time.Second}, {unlock: true, ttl: 29 * time.Second}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.setLatency(0)
				l := w.client().NewLock("orders", "a")
				for i, s := range tt.steps {
					switch {
					case s.unlock:
						must[int](t)(l.Unlock(t.Context()))
					case s.sleep > 0:
						time.Sleep(s.sleep)
					default:
						must[lock.Grant](t)(l.TryLock(t.Context(), lock.Lease(s.lease)))
					}
					ttl := must[time.Duration](t)(l.TTL(t.Context()))
					if d := ttl - s.ttl; d < -10*time.Millisecond || d > 10*time.Millisecond {
						t.Errorf("step %d: TTL %v, want %v", i, ttl, s.ttl)
					}
				}
			})
		})
	}
}

func TestReentrant_refusesBadLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.client().NewLock("orders", "a")
		for _, d := range []time.Duration{-1, 1, time.Millisecond - 1} {
			if _, err := l.TryLock(t.Context(), lock.Lease(d)); err == nil {
				t.Errorf("a lease of %v was granted", d)
			}
		}
		if n := w.count("orders"); n != 0 {
			t.Errorf("%d commands were sent", n)
		}
	})
}

// A resource that checks tokens refuses the older holder only if they grow from hold to
// hold. It accepts its own holder only if they do not change.
func TestReentrant_fencing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a, b := w.client(lock.WithFencing()).NewLock("orders", "a"), w.client(lock.WithFencing()).NewLock("orders", "b")
		last := uint64(0)
		for range 3 {
			for _, l := range []*lock.Reentrant{a, b} {
				g := must[lock.Grant](t)(l.Lock(ctx))
				if g.Token <= last {
					t.Errorf("token %d after %d", g.Token, last)
				}
				if inner := must[lock.Grant](t)(l.Lock(ctx)); inner.Token != g.Token {
					t.Errorf("token %d became %d within a hold", g.Token, inner.Token)
				}
				last = g.Token
				must[int](t)(l.Unlock(ctx))
				must[int](t)(l.Unlock(ctx))
			}
		}
		if ttl := w.server.TTL("holdfast_lock_token:{orders}"); ttl <= 6*24*time.Hour {
			t.Errorf("the counter is kept for %v", ttl)
		}
	})
}

func TestReentrant_forceUnlock(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		a, b := c.NewLock("orders", "a"), c.NewLock("orders", "b")
		if freed := must[bool](t)(b.ForceUnlock(ctx)); freed {
			t.Error("a free lock was freed")
		}
		must[lock.Grant](t)(a.Lock(ctx))
		lost := a.Lost()
		if freed := must[bool](t)(b.ForceUnlock(ctx)); !freed {
			t.Error("a held lock was not freed")
		}
		select {
		case <-lost:
		default:
			t.Error("the holder was not told")
		}
		_, err := a.Unlock(ctx)
		wantErr(t, "unlock after force", err, lock.ErrLost)
	})
}

// A use of a lock costs one request and one answer each.
func TestReentrant_cost(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		a := w.client(lock.WithFencing()).NewLock("orders", "a")
		b := w.client().NewLock("orders", "b")
		cycle := func() {
			must[lock.Grant](t)(a.Lock(ctx))
			must[int](t)(a.Unlock(ctx))
		}
		cycle() // loads the scripts
		before := w.count("EVAL")
		start := time.Now()
		cycle()
		if n := w.count("EVAL") - before; n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		if d := time.Since(start); d != 2*w.latency() {
			t.Errorf("took %v, want two trips of %v", d, w.latency())
		}
		must[lock.Grant](t)(a.Lock(ctx))
		_, err := b.TryLock(ctx)
		wantErr(t, "try", err, lock.ErrBusy)
		if n := w.count("SUBSCRIBE"); n != 0 {
			t.Error("a try without wait subscribed")
		}
	})
}

// A key of another type is somebody else's data.
func TestReentrant_forceUnlockSparesOtherKeys(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.server.Set("orders", "something else")
		_, err := w.client().NewLock("orders", "a").ForceUnlock(t.Context())
		wantErr(t, "force", err, lock.ErrRefused)
		if !w.server.Exists("orders") {
			t.Error("it was deleted")
		}
	})
}

// A leader starts a piece of work a second under one hold: what is done must
// not pile up.
func TestReentrant_contextWithCancel(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		type piece [64]byte
		type key struct{}
		var pieces []weak.Pointer[piece]
		for range 100 {
			p := new(piece)
			pieces = append(pieces, weak.Make(p))
			work, cancel := context.WithCancel(context.WithValue(ctx, key{}, p))
			l.Context(work)
			cancel()
		}
		synctest.Wait()
		runtime.GC()
		kept := 0
		for _, p := range pieces {
			if p.Value() != nil {
				kept++
			}
		}
		if kept > 0 {
			t.Errorf("%d of %d contexts that have ended are still kept", kept, len(pieces))
		}
		parent, cancel := context.WithCancel(ctx)
		work := l.Context(parent)
		defer cancel()
		must[int](t)(l.Unlock(ctx))
		if cause := context.Cause(work); cause != lock.ErrNotHeld {
			t.Errorf("the work ended with %v", cause)
		}
	})
}

// ForceUnlock that got no answer, or an error for one, does not report that it has freed
// the lock.
func TestForceUnlock_withoutSuccess(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.clientOn(w.redis(noRetries), lock.WithUnlockTimeout(time.Second))
		l := c.NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		w.hung.Store(true)
		freed, err := l.ForceUnlock(ctx)
		if wantErr(t, "a hung server", err, lock.ErrUnknown); freed {
			t.Error("a hung server has freed the lock")
		}
		w.hung.Store(false)
		w.server.SetError("MISCONF no")
		freed, err = l.ForceUnlock(ctx)
		if wantErr(t, "an error of the server", err, lock.ErrRefused); freed {
			t.Error("a server that refuses has freed the lock")
		}
		w.server.SetError("")
	})
}

// An owner without a hold has nothing to lose, also while it waits or asks.
func TestReentrant_withoutAHold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l, other := w.client(lock.WithFencing()).NewLock("orders", "a"), w.client().NewLock("orders", "b")
		nothing := func(when string) {
			t.Helper()
			if l.Lost() != nil || l.Remaining() != 0 {
				t.Errorf("%s: lost %v, %v remain", when, l.Lost(), l.Remaining())
			}
			if cause := context.Cause(l.Context(ctx)); cause != lock.ErrNotHeld {
				t.Errorf("%s: a context ends with %v", when, cause)
			}
		}
		nothing("at first")
		must[lock.Grant](t)(l.Lock(ctx))
		w.setLatency(time.Second)
		go l.IsLocked(ctx)
		synctest.Wait()
		w.setLatency(time.Millisecond)
		must[int](t)(l.Unlock(ctx))
		nothing("while it asks after a release")
		time.Sleep(2 * time.Second)
		must[lock.Grant](t)(other.Lock(ctx))
		granted := make(chan error, 1)
		go func() {
			_, err := l.Lock(ctx)
			granted <- err
		}()
		time.Sleep(100 * time.Millisecond)
		nothing("while it waits")
		must[int](t)(other.Unlock(ctx))
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
		must[int](t)(l.Unlock(ctx))
		nothing("after the release")
	})
}

// All pieces of work under a hold end with it, however many they are.
func TestReentrant_manyContexts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := w.client().NewLock("orders", "a")
		for range 3 {
			must[lock.Grant](t)(l.Lock(t.Context()))
			var work []context.Context
			for range 10000 {
				work = append(work, l.Context(t.Context()))
			}
			must[int](t)(l.Unlock(t.Context()))
			for _, ctx := range work {
				if cause := context.Cause(ctx); cause != lock.ErrNotHeld {
					t.Fatalf("work ended with %v", cause)
				}
			}
		}
	})
}
