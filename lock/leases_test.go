package lock_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// An owner ends its lease 1% and 2ms before the server, or a quarter if that is less.
func TestLease_endsEarlyForTheOwner(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		4 * time.Millisecond:  3 * time.Millisecond,
		8 * time.Millisecond:  6 * time.Millisecond,
		10 * time.Millisecond: 7900 * time.Microsecond,
		time.Second:           988 * time.Millisecond,
		time.Minute:           59398 * time.Millisecond,
	} {
		t.Run(lease.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.setLatency(0)
				l := w.client().NewLock("orders", "a")
				start := time.Now()
				g := must[lock.Grant](t)(l.Lock(t.Context(), lock.Lease(lease)))
				if d := g.Until.Sub(start); d != want {
					t.Errorf("the grant is valid for %v, want %v", d, want)
				}
				lost := l.Lost()
				<-lost
				if d := time.Since(start); d != want {
					t.Errorf("lost after %v, want %v", d, want)
				}
			})
		})
	}
}

// withoutRenewals has a renewed hold within which another with a lease of inner was taken
// and released, 10s later. No renewal has arrived since the lease of the renewed hold, 5s.
func withoutRenewals(t *testing.T, w *world, inner time.Duration) *lock.Reentrant {
	ctx := t.Context()
	l := w.clientOn(w.redis(noRetries), lock.WithWatchdogTimeout(5*time.Second)).NewLock("orders", "a")
	must[lock.Grant](t)(l.Lock(ctx))
	must[lock.Grant](t)(l.Lock(ctx, lock.Lease(inner)))
	f := func(cmd string, args []string) bool { return entry{cmd: cmd, args: args}.renews() != "" }
	w.drop.Store(&f) // no answer comes, not even that the server does not know the script
	time.Sleep(10 * time.Second)
	if n := must[int](t)(l.Unlock(ctx)); n != 1 {
		t.Errorf("%d holds remain, want 1", n)
	}
	return l
}

// The lease of an inner hold has kept the lock where no renewal came through. The outer
// hold goes on from there when the inner one is released.
func TestLost_notAfterAnInnerLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		l := withoutRenewals(t, w, 20*time.Second)
		if closed(l.Lost()) {
			t.Fatal("the outer hold is lost")
		}
		w.drop.Store(nil)
		time.Sleep(time.Minute)
		if closed(l.Lost()) {
			t.Error("the outer hold was lost later")
		}
		must[int](t)(l.Unlock(t.Context()))
	})
}

// The members that a lost group still has are renewed no more, and last until the lease
// of their last renewal ends.
func TestLost_membersLastUntilTheirLeases(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other := newWorld(t)
		defer other.close()
		b := other.client(lock.WithWatchdogTimeout(24 * time.Second))
		group := lock.NewMultiLock(lock.GroupOptions{}, lock.Member{Client: w.client(), Name: "orders"}, lock.Member{Client: b, Name: "stock"})
		start := time.Now()
		must[lock.Grant](t)(group.Lock(ctx))
		time.Sleep(25 * time.Second) // the last renewal of b is a second old
		w.server.Del("orders")
		<-group.Lost()
		seen := time.Now()
		time.Sleep(time.Until(start.Add(47 * time.Second)))
		if !other.server.Exists("stock") {
			t.Error("the other member is free before its lease has ended")
		}
		if slices.ContainsFunc(other.arrived(), func(e entry) bool { return e.at.After(seen) && e.renews() != "" }) {
			t.Error("the other member is still renewed")
		}
		for other.server.Exists("stock") {
			time.Sleep(time.Millisecond)
		}
		if d := time.Since(start); d > 48100*time.Millisecond {
			t.Errorf("the other member is lost after %v; its last renewal was for 24s after 24s", d)
		}
		_, err := group.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
	})
}

// ForceUnlock tells all who work under the lock in its client, each once and in order,
// even those who have lost it without knowing. A holder whose lease ends meanwhile is
// notified once.
func TestForceUnlock_tellsHolders(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var mu sync.Mutex
		var told []string
		c := w.client(lock.WithObserver(lock.Observer{Lost: func(_, owner string, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, owner)
		}}))
		var work []context.Context
		owners := []string{"a", "b", "c", "d", "e", "f"}
		for _, owner := range owners {
			w.server.Del("orders") // the one before does not know yet
			l := c.NewLock("orders", owner)
			must[lock.Grant](t)(l.Lock(ctx))
			work = append(work, l.Context(ctx))
		}
		must[bool](t)(c.NewLock("orders", "admin").ForceUnlock(ctx))
		for i, owner := range owners {
			if cause := context.Cause(work[i]); cause != lock.ErrLost {
				t.Errorf("the work of %s ended with %v", owner, cause)
			}
		}
		if !slices.Equal(told, owners) {
			t.Errorf("told %v, want %v", told, owners)
		}
	})
}

func TestForceUnlock_whileTheLeaseEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var told atomic.Int32
		c := w.client(lock.WithObserver(lock.Observer{Lost: func(string, string, time.Duration) { told.Add(1) }}))
		l, admin := c.NewLock("orders", "a"), c.NewLock("orders", "admin")
		must[bool](t)(admin.ForceUnlock(ctx)) // of a free lock; the server has the script from here on
		start := time.Now()
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(10*time.Second)))
		time.Sleep(time.Until(start.Add(9800 * time.Millisecond)))
		w.setLatency(150 * time.Millisecond) // it arrives when only the server still counts the lease
		if !must[bool](t)(admin.ForceUnlock(ctx)) {
			t.Error("the lock was not held: the test shows nothing")
		}
		if n := told.Load(); n != 1 {
			t.Errorf("the holder was told %d times", n)
		}
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
	})
}
