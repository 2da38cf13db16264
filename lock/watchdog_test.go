package lock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// failures records when renewals failed.
type failures struct {
	mu sync.Mutex
	at []time.Time
}

func (f *failures) observe() lock.Option {
	return lock.WithObserver(lock.Observer{RenewDone: func(_, _ string, err error) {
		if err == nil {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.at = append(f.at, time.Now())
	}})
}

func (f *failures) times() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.at)
}

// The watchdog renews each lock three times per lease, or a little more often to renew
// it along with another. So locks that are taken one after another cost one request.
func TestWatchdog_rhythm(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		last := map[string]time.Time{}
		for _, pause := range []time.Duration{0, 3 * time.Second, 4 * time.Second, 2 * time.Second} {
			time.Sleep(pause)
			name := fmt.Sprint("job-", len(last))
			last[name] = time.Now()
			must[lock.Grant](t)(c.NewLock(name, "a").Lock(ctx))
		}
		time.Sleep(2 * time.Minute)
		requests := map[time.Time]bool{}
		for _, e := range w.arrived() {
			name := e.renews()
			if e.cmd != "EVALSHA" || name == "" {
				continue
			}
			requests[e.at] = true
			if d := e.at.Sub(last[name]); d < 5*time.Second || d > 10*time.Second+10*time.Millisecond {
				t.Errorf("%q was renewed after %v, want 5s to 10s", name, d)
			}
			last[name] = e.at
		}
		if n := len(requests); n < 12 || n > 14 {
			t.Errorf("%d requests in two minutes, want one in ten seconds", n)
		}
	})
}

// A lock that was released leaves nothing behind that renews the next one early.
func TestWatchdog_startsAfresh(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		must[lock.Grant](t)(c.NewLock("first", "a").Lock(ctx))
		time.Sleep(time.Second)
		must[int](t)(c.NewLock("first", "a").Unlock(ctx))
		time.Sleep(3 * time.Second)
		start := time.Now()
		must[lock.Grant](t)(c.NewLock("second", "a").Lock(ctx))
		time.Sleep(95 * time.Second)
		at := w.renewals("a@second", start)[1:] // without the acquire
		for i, d := range at {
			if want := time.Duration(i+1) * 10 * time.Second; d < want || d > want+100*time.Millisecond {
				t.Errorf("renewal %d came after %v, want every 10s", i+1, d)
			}
		}
		if len(at) != 9 {
			t.Errorf("%d renewals, want 9", len(at))
		}
	})
}

// A client renews its locks always in the same order.
func TestWatchdog_order(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		var want []string
		for i := range 130 {
			name := fmt.Sprintf("job-%03d", i)
			want = append(want, name)
			must[lock.Grant](t)(c.NewLock(name, fmt.Sprintf("worker-%03d", 130-i)).Lock(t.Context()))
		}
		time.Sleep(15 * time.Second)
		var got []string
		for _, e := range w.arrived() {
			if name := e.renews(); name != "" && e.cmd == "EVAL" { // what the server did not know is sent again
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("renewed in the order %v", got)
		}
	})
}

// A server that takes its time still renews.
func TestWatchdog_slowServer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var failed failures
		l := w.client(failed.observe()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(t.Context()))
		time.Sleep(15 * time.Second) // the server has the script from here on
		w.setLatency(2 * time.Second)
		time.Sleep(2 * time.Minute)
		if at := failed.times(); len(at) > 0 || closed(l.Lost()) {
			t.Errorf("%d renewals failed on a server that answers in 2s; lost: %v", len(at), closed(l.Lost()))
		}
		w.setLatency(time.Millisecond)
	})
}

// A server that refuses renewals is asked again after a tenth of the lease.
func TestWatchdog_pausesAfterAFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var failed failures
		l := w.clientOn(w.redis(noRetries), failed.observe()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(t.Context()))
		time.Sleep(9 * time.Second)
		end := w.refuse()
		time.Sleep(12 * time.Second)
		end()
		at := failed.times()
		if len(at) != 4 {
			t.Fatalf("%d renewals failed in 12s, want 4", len(at))
		}
		for i, next := range at[1:] {
			if d := next.Sub(at[i]); d < 2900*time.Millisecond || d > 3100*time.Millisecond {
				t.Errorf("repeated after %v, the lease is 30s", d)
			}
		}
		time.Sleep(2 * time.Second)
		if ttl := must[time.Duration](t)(l.TTL(t.Context())); ttl < 28*time.Second {
			t.Errorf("%v remain after the next renewal", ttl)
		}
	})
}

// A nested acquire overtakes a renewal. That is neither a failure nor a loss: the lock is
// renewed at once.
func TestWatchdog_isOvertaken(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var failed failures
		l := w.client(failed.observe()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		time.Sleep(15 * time.Second) // the server has the script from here on
		must[bool](t)(l.IsLocked(ctx))
		time.Sleep(4 * time.Second)
		w.setLatency(2500 * time.Millisecond)
		time.Sleep(1100 * time.Millisecond)
		w.setLatency(time.Millisecond)
		must[lock.Grant](t)(l.Lock(ctx, lock.Lease(time.Second)))
		time.Sleep(3 * time.Second)
		if closed(l.Lost()) {
			t.Fatal("the hold was reported as lost")
		}
		if n := len(failed.times()); n > 0 {
			t.Errorf("%d renewals were reported as failed", n)
		}
		if ttl := must[time.Duration](t)(l.TTL(ctx)); ttl < 28*time.Second {
			t.Errorf("%v remain, 1s after the answer", ttl)
		}
	})
}

// The server refuses the renewal of one lock, as to a user without the right to its key.
// The others are renewed.
func TestWatchdog_oneIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var failed failures
		c := w.client(failed.observe())
		w.answers(func(p *server.Peer, cmd string, args ...string) bool {
			if (entry{cmd: cmd, args: args}).renews() != "job-2" {
				return false
			}
			p.WriteError("NOPERM No permissions to access a key")
			return true
		})
		for i := range 5 {
			must[lock.Grant](t)(c.NewLock(fmt.Sprint("job-", i), "a").Lock(t.Context()))
		}
		time.Sleep(5 * time.Minute)
		for i := range 5 {
			if l := c.NewLock(fmt.Sprint("job-", i), "a"); closed(l.Lost()) != (i == 2) {
				t.Errorf("job-%d: lost %v", i, closed(l.Lost()))
			}
		}
		if n := len(failed.times()); n == 0 {
			t.Error("no renewal failed")
		}
	})
}

// A senseless answer to a renewal counts as none.
func TestWatchdog_senselessAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var failed failures
		l := w.client(failed.observe()).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(t.Context()))
		var over atomic.Bool
		w.answers(func(p *server.Peer, cmd string, args ...string) bool {
			if e := (entry{cmd: cmd, args: args}); e.renews() == "" || over.Load() {
				return false
			}
			p.WriteLen(0)
			return true
		})
		time.Sleep(15 * time.Second)
		over.Store(true)
		time.Sleep(time.Minute)
		if n := len(failed.times()); n != 2 || closed(l.Lost()) {
			t.Errorf("%d renewals failed, want those after 10s and 13s; lost: %v", n, closed(l.Lost()))
		}
	})
}

// A hold that was handed on has little time until its first renewal. One that gets no
// answer is repeated within that time, and not more often than needed.
func TestWatchdog_firstRenewalOfAHandOff(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var failed failures
		before := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		got := make(chan *lock.Hold, 1)
		c := w.client(failed.observe())
		go func() { got <- must[*lock.Hold](t)(c.NewFairLock("orders").Acquire(ctx)) }()
		time.Sleep(10 * time.Second)
		go before.Release(ctx)
		time.Sleep(2500 * time.Microsecond) // the lock is handed on, and the renewal is on its way
		w.hung.Store(true)
		time.Sleep(1500 * time.Millisecond)
		w.hung.Store(false)
		h := <-got
		time.Sleep(time.Minute)
		if closed(h.Lost()) {
			t.Error("the hold is lost")
		}
		if n := len(failed.times()); n != 2 {
			t.Errorf("%d renewals failed in 1.5s, want 2", n)
		}
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// An observer gets every renewal and the release.
func TestObserver_renewalsAndRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var mu sync.Mutex
		var told []string
		tell := func(what ...any) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, strings.TrimSpace(fmt.Sprintln(what...)))
		}
		l := w.client(lock.WithObserver(lock.Observer{
			RenewDone: func(name, owner string, err error) { tell("renewed", name, owner, err) },
			ReleaseDone: func(_ context.Context, r lock.ReleaseResult) {
				tell("released", r.Name, r.Owner, r.Left, r.Held.Round(time.Second))
			},
		})).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		must[lock.Grant](t)(l.Lock(ctx))
		time.Sleep(25 * time.Second)
		for range 2 {
			must[int](t)(l.Unlock(ctx))
		}
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"renewed orders a <nil>", "renewed orders a <nil>", "released orders a 1 25s", "released orders a 0 25s"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
