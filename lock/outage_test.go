package lock_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// The server is away for longer than a release waits. The client goes on with the release,
// so that the lock does not stay for its lease.
func TestOutage_ofARelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Hour)))
		w.hung.Store(true)
		time.AfterFunc(6*time.Second, func() { w.hung.Store(false) })
		_, err := l.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrUnknown)
		time.Sleep(10 * time.Second)
		if w.server.Exists("orders") {
			t.Error("the lock stays for its lease")
		}
	})
}

// An outage ends no wait, of a plain lock as of a fair one.
func TestOutage_ofAWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		holder := w.client()
		plain := must[*lock.Hold](t)(holder.Acquire(ctx, "plain", lock.Lease(20*time.Second)))
		fair := must[*lock.Hold](t)(holder.NewFairLock("fair").Acquire(ctx, lock.Lease(20*time.Second)))
		waiter := w.client()
		got := make(chan *lock.Hold, 2)
		go func() { got <- must[*lock.Hold](t)(waiter.Acquire(ctx, "plain")) }()
		go func() { got <- must[*lock.Hold](t)(waiter.NewFairLock("fair").Acquire(ctx)) }()
		time.Sleep(2 * time.Second)
		for _, l := range w.open() {
			l.Close()
		}
		w.hung.Store(true)
		time.Sleep(10 * time.Second)
		w.hung.Store(false)
		w.gives(plain)
		w.gives(fair)
		w.gives(<-got)
		w.gives(<-got)
	})
}

// A server may have granted a request of a wait before an outage, and the answer is lost. The
// requests after it reach no server, so nothing is known about the first when the wait ends.
func TestOutage_ofTheAnswerToAWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		held := must[*lock.Hold](t)(w.client().Acquire(ctx, "orders"))
		waiter, cut := w.mortal()
		ended := make(chan error, 1)
		go func() {
			_, err := waiter.NewLock("orders", "a").TryLock(ctx, lock.Wait(9*time.Second))
			ended <- err
		}()
		time.Sleep(500 * time.Millisecond)
		w.loseAnswers(":a")
		w.gives(held)
		time.Sleep(time.Second)
		cut(true)
		wantErr(t, "the wait", <-ended, lock.ErrUnknown)
	})
}

// An ordinary holder of the same lock tells fair waiters when it releases.
func TestFair_anOrdinaryReleaseWakesTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		ordinary := must[*lock.Hold](t)(w.client().Acquire(ctx, "orders"))
		got := w.waiting(ctx, w.client(lock.WithSafetyPoll(time.Hour)))
		time.Sleep(7 * time.Second)
		w.gives(ordinary)
		start := time.Now()
		w.gives(<-got)
		if d := time.Since(start); d > 10*w.latency() {
			t.Errorf("granted %v after the release", d)
		}
	})
}

// After a loss of two holds, each of the two Unlocks reports it. An Unlock that is left
// over must not release what another goroutine of the owner has acquired since.
func TestUnlock_afterALossOfTwoHolds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		for range 2 {
			must[lock.Grant](t)(l.Lock(ctx))
		}
		lost := l.Lost()
		w.server.Del("orders")
		<-lost
		_, err := l.Unlock(ctx)
		wantErr(t, "first unlock", err, lock.ErrLost)
		_, errLock := l.TryLock(ctx) // of another goroutine
		_, err = l.Unlock(ctx)
		wantErr(t, "second unlock", err, lock.ErrLost)
		if errLock == nil && !w.server.Exists("orders") {
			t.Error("the second unlock has released a new hold")
		}
		must[lock.Grant](t)(l.TryLock(ctx))
	})
}

// A lease is as long on the server as its owner asked for. The margin for drift only ends
// the trust of the owner.
func TestLease_isWholeOnTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		start := time.Now()
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(24*time.Hour)))
		h := must[*lock.Hold](t)(w.client().Acquire(ctx, "call", lock.Lease(24*time.Hour)))
		<-l.Lost()
		<-h.Lost()
		if d := time.Since(start); d > 24*time.Hour-14*time.Minute {
			t.Errorf("the owner trusts its lease for %v", d)
		}
		time.Sleep(24*time.Hour - time.Since(start) - time.Second)
		for _, name := range []string{"orders", "call"} {
			if !w.server.Exists(name) {
				t.Errorf("the server has freed %q before the end of its lease", name)
			}
		}
	})
}

// The server answers an inner release only after the Unlock has ended, and the lease of that
// time is over before the owner asks again. The hold was renewed meanwhile, so the owner
// still hears of that release, and keeps its outer hold.
func TestOutage_ofAnInnerRelease(t *testing.T) {
	for _, d := range []time.Duration{1200 * time.Millisecond, 2 * time.Second} {
		inBubble(t, func(t *testing.T, w *world) {
			ctx := t.Context()
			c := w.client(lock.WithWatchdogTimeout(6*time.Second), lock.WithUnlockTimeout(time.Second))
			l := c.NewLock("orders", "a")
			for range 3 {
				must[lock.Grant](t)(l.Lock(ctx))
			}
			w.hung.Store(true)
			time.AfterFunc(d, func() { w.hung.Store(false) })
			_, err := l.Unlock(ctx)
			wantErr(t, "unlock", err, lock.ErrUnknown)
			time.Sleep(20 * time.Second)
			for want := 2; want >= 0; want-- {
				if left := must[int](t)(l.Unlock(ctx)); left != want || w.server.Exists("orders") != (want > 0) {
					t.Errorf("%d holds left, want %d; the lock is there: %v", left, want, w.server.Exists("orders"))
				}
			}
		})
	}
}
