package lock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Polls come at the interval, less a random part of up to a quarter. Waiters that began
// together do not go on in step. A holder without a lease is no reason to poll more often.
func TestWait_pollsAreSpread(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.loadScripts()
		w.deadHolder(0)
		failed := make(chan error, 1)
		l := w.client().NewLock("orders", "a")
		go func() {
			_, err := l.Lock(ctx)
			failed <- err
		}()
		w.next(acquires)
		last := w.next(acquires).at // it has subscribed
		w.wantSpread(acquires, last)
		cancel()
		<-failed
	})
}

// A waiter tries when it comes, and when it has subscribed. Then it polls, and tries
// within a millisecond when the holder's lease has ended.
func TestWait_triesAtTheEndOfALease(t *testing.T) {
	for _, f := range []struct {
		latency, lease time.Duration
		tries          int
	}{
		{time.Millisecond, 600 * time.Millisecond, 3},
		{100 * time.Microsecond, 1250 * time.Microsecond, 3}, // less than a millisecond is left when it has subscribed
	} {
		t.Run(f.lease.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.loadScripts()
				w.setLatency(f.latency)
				l := w.warm(lock.WithID("a")).NewLock("orders", "1")
				w.deadHolder(f.lease)
				end := time.Now().Add(f.lease)
				must[lock.Grant](t)(l.Lock(t.Context()))
				if d := time.Since(end); d > time.Millisecond+f.latency {
					t.Errorf("granted %v after the end of the lease", d)
				}
				if n := w.tries("a:1"); n != f.tries {
					t.Errorf("it tried %d times, want %d", n, f.tries)
				}
				must[int](t)(l.Unlock(t.Context()))
			})
		})
	}
}

// Waiters give up, one after another. The next one polls for the others then, at the next
// interval: it has learned no more than they did.
func TestWait_givingUpCostsNoRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.loadScripts()
		w.deadHolder(time.Hour)
		c := w.client(lock.WithID("a"), lock.WithSafetyPoll(time.Minute))
		var cancels []func()
		done := make(chan bool, 10)
		for i := range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			go func() {
				_, _ = c.NewLock("orders", fmt.Sprint(i)).Lock(ctx)
				done <- true
			}()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(3 * time.Minute)
		before := len(w.calls(acquires))
		for _, cancel := range cancels[:9] {
			cancel()
			<-done
			time.Sleep(time.Second)
		}
		if n := len(w.calls(acquires)) - before; n > 1 {
			t.Errorf("%d requests while nine waiters gave up in nine seconds", n)
		}
		cancels[9]()
		<-done
	})
}

// A waiter was woken, and gives up before its request has arrived. It passes the wake-up on.
func TestWait_passesAWakeUpOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.loadScripts()
		holder := w.client().NewLock("orders", "holder")
		must[lock.Grant](t)(holder.Lock(ctx))
		c := w.client(lock.WithSafetyPoll(time.Hour))
		first, giveUp := context.WithCancel(ctx)
		failed := make(chan error, 1)
		go func() {
			_, err := c.NewLock("orders", "first").Lock(first)
			failed <- err
		}()
		time.Sleep(100 * time.Millisecond)
		got := make(chan error, 1)
		second := c.NewLock("orders", "second")
		go func() {
			_, err := second.Lock(ctx)
			got <- err
		}()
		time.Sleep(100 * time.Millisecond)
		must[int](t)(holder.Unlock(ctx))
		w.hung.Store(true) // its try does not arrive
		time.Sleep(2 * time.Millisecond)
		giveUp()
		time.Sleep(300 * time.Millisecond)
		w.hung.Store(false)
		<-failed
		start := time.Now()
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 10*time.Millisecond {
			t.Errorf("the next one got the lock %v after the first had given up", d)
		}
		must[int](t)(second.Unlock(ctx))
	})
}

// A waiter was woken in vain, because somebody else was faster. When it gives up later,
// it wakes no other.
func TestWait_wokenInVain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.loadScripts()
		holder, faster := w.client().NewLock("orders", "holder"), w.client().NewLock("orders", "faster")
		must[lock.Grant](t)(holder.Lock(ctx))
		_, err := faster.TryLock(ctx)
		wantErr(t, "a try", err, lock.ErrBusy)
		c := w.client(lock.WithID("c"), lock.WithSafetyPoll(time.Hour))
		first, giveUp := context.WithCancel(ctx)
		done := make(chan bool)
		go func() {
			_, _ = c.NewLock("orders", "first").Lock(first)
			done <- true
		}()
		time.Sleep(100 * time.Millisecond)
		second := c.NewLock("orders", "second")
		go func() {
			_, _ = second.Lock(ctx)
			done <- true
		}()
		time.Sleep(100 * time.Millisecond)
		before := w.tries("c:first")
		time.AfterFunc(200*time.Microsecond, func() { must[lock.Grant](t)(faster.TryLock(ctx)) })
		must[int](t)(holder.Unlock(ctx))
		time.Sleep(100 * time.Millisecond)
		if n := w.tries("c:first") - before; n != 1 {
			t.Fatalf("it tried %d times, want once", n)
		}
		before = w.tries("c:second")
		giveUp()
		<-done
		time.Sleep(5 * time.Second)
		if n := w.tries("c:second") - before; n != 0 {
			t.Errorf("the next waiter tried %d times, and nobody had released the lock", n)
		}
		must[int](t)(faster.Unlock(ctx))
		<-done
		must[int](t)(second.Unlock(ctx))
	})
}

// Replicas do not confirm. A waiter tries again at each poll, and returns what came of its
// last try.
func TestReplicaAcks_ofAWaiter(t *testing.T) {
	for name, try := range map[string]func(ctx context.Context, c *lock.Client, d time.Duration) error{
		"named": func(ctx context.Context, c *lock.Client, d time.Duration) error {
			_, err := c.NewLock("orders", "1").TryLock(ctx, lock.Wait(d))
			return err
		},
		"fair": func(ctx context.Context, c *lock.Client, d time.Duration) error {
			_, err := c.NewFairLock("orders").Acquire(ctx, lock.Wait(d))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				c := w.client(lock.WithID("a"), lock.WithReplicaAcks(1, 50*time.Millisecond))
				wantErr(t, "a wait", try(ctx, c, 6*time.Second), lock.ErrAcks)
				if n := w.count("1 50"); n < 6 || n > 10 {
					t.Errorf("%d tries in 6s, want one for each poll", n)
				}
				other := w.client().NewLock("orders", "other")
				time.AfterFunc(500*time.Millisecond, func() { must[lock.Grant](t)(other.TryLock(ctx)) })
				wantErr(t, "somebody else has it meanwhile", try(ctx, c, 3*time.Second), lock.ErrBusy)
				must[int](t)(other.Unlock(ctx))
			})
		})
	}
}

// A waiter has sent its first request twice, so a copy may be on its way. It takes each
// grant back, which counts for all copies, and sends no more.
func TestWait_takesEachGrantBackOnce(t *testing.T) {
	for name, f := range map[string]struct {
		option lock.Option
		lease  time.Duration
		slow   time.Duration
		want   error
	}{
		"too late":      {lock.WithFencing(), 100 * time.Millisecond, 200 * time.Millisecond, lock.ErrUnknown},
		"not confirmed": {lock.WithReplicaAcks(1, 50*time.Millisecond), time.Minute, time.Millisecond, lock.ErrAcks},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				w.loadScripts()
				holder, l := w.client().NewLock("orders", "holder"), w.client(lock.WithID("a"), f.option).NewLock("orders", "1")
				must[lock.Grant](t)(holder.Lock(ctx))
				w.dropReply("a:1", 1)
				failed := make(chan error, 1)
				go func() {
					_, err := l.TryLock(ctx, lock.Wait(2900*time.Millisecond), lock.Lease(f.lease))
					failed <- err
				}()
				time.Sleep(2500 * time.Millisecond)
				before := w.tries("a:1")
				time.AfterFunc(500*time.Microsecond, func() { w.setLatency(f.slow) }) // the release is on its way
				must[int](t)(holder.Unlock(ctx))
				synctest.Wait() // the waiter tries again
				w.setLatency(time.Millisecond)
				wantErr(t, "the wait", <-failed, f.want)
				grants := w.tries("a:1") - before
				if n := len(w.takeBacks()); n != grants {
					t.Errorf("%d requests took %d grants back", n, grants)
				}
				if w.server.Exists("orders") {
					t.Error("it was not taken back")
				}
			})
		})
	}
}

// The wait ends during a request. One that was refused before has learned that another
// owner has the lock. After the first request, no server has said so.
func TestWait_endsDuringARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.knowsFair()
		w.loadScripts()
		w.setLatency(30 * time.Millisecond)
		holder, waiter := w.warm().NewLock("orders", "a"), w.warm(lock.WithID("b")).NewLock("orders", "1")
		must[lock.Grant](t)(holder.Lock(ctx))
		failed := make(chan error, 1)
		go func() {
			_, err := waiter.TryLock(ctx, lock.Wait(2*time.Second))
			failed <- err
		}()
		time.Sleep(1950 * time.Millisecond)
		before := w.tries("b:1")
		must[int](t)(holder.Unlock(ctx))
		wantErr(t, "a wait that ends", <-failed, lock.ErrBusy)
		if n := w.tries("b:1") - before; n != 1 || w.server.Exists("orders") {
			t.Errorf("it tried %d times after the release; somebody has the lock: %v", n, w.server.Exists("orders"))
		}

		fair := w.warm().NewFairLock("orders")
		for name, acquire := range map[string]func() error{
			"named": func() error { _, err := waiter.TryLock(ctx, lock.Wait(100*time.Millisecond)); return err },
			"fair":  func() error { _, err := fair.Acquire(ctx, lock.Wait(100*time.Millisecond)); return err },
		} {
			w.setLatency(2 * time.Second)
			go func() { failed <- acquire() }()
			synctest.Wait()
			w.setLatency(time.Millisecond)
			start := time.Now()
			wantErr(t, name, <-failed, lock.ErrUnknown)
			if d := time.Since(start); d > 110*time.Millisecond {
				t.Errorf("%s: it returned after %v", name, d)
			}
			time.Sleep(3 * time.Second)
			if w.server.Exists("orders") {
				t.Errorf("%s: the request took the lock when it arrived", name)
			}
		}
	})
}
