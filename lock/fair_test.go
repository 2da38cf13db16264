package lock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// turns records who has a lock, and fails when two have it.
type turns struct {
	t    *testing.T
	mu   sync.Mutex
	who  []string
	busy map[*lock.Hold]bool
}

func newTurns(t *testing.T) *turns { return &turns{t: t, busy: map[*lock.Hold]bool{}} }

// work has the lock for a while, or until it is lost.
func (r *turns) work(who string, h *lock.Hold, d time.Duration) {
	r.mu.Lock()
	r.who = append(r.who, who)
	r.busy[h] = true
	if len(r.busy) > 1 {
		r.t.Errorf("%d have the lock after %v", len(r.busy), r.who)
	}
	r.mu.Unlock()
	select {
	case <-time.After(d):
	case <-h.Context().Done():
	}
	r.mu.Lock()
	delete(r.busy, h)
	r.mu.Unlock()
}

// served lists those who have had the lock, in order, but for one.
func (r *turns) served(but string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(slices.DeleteFunc(slices.Clone(r.who), func(s string) bool { return s == but }), "")
}

// queue starts waiters, one after another, each from a client of its own.
func (w *world) queue(r *turns, wg *sync.WaitGroup, names ...string) {
	for _, name := range names {
		c := w.client(lock.WithWatchdogTimeout(10 * time.Second))
		wg.Go(func() {
			h, err := c.NewFairLock("orders").Acquire(r.t.Context())
			if err != nil {
				r.t.Errorf("%s: %v", name, err)
				return
			}
			r.work(name, h, 100*time.Millisecond)
			if err := h.Release(r.t.Context()); err != nil {
				r.t.Errorf("%s releases: %v", name, err)
			}
		})
		time.Sleep(10 * time.Millisecond)
	}
}

func TestFair_firstComeFirstServed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		r := newTurns(t)
		var wg sync.WaitGroup
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		w.queue(r, &wg, "a", "b", "c", "d", "e", "f", "g", "h")
		time.Sleep(5 * time.Second) // they look
		_, err := w.client().NewFairLock("orders").Acquire(ctx, lock.Wait(0))
		wantErr(t, "a try of somebody who does not wait", err, lock.ErrBusy)
		start := time.Now()
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if got := strings.Join(r.who, ""); got != "abcdefgh" {
			t.Errorf("served %s", got)
		}
		// Each turn takes 100ms and the way of one release, and no waiter needs a look.
		if d := time.Since(start); d > 850*time.Millisecond {
			t.Errorf("8 turns took %v", d)
		}
		for _, key := range w.server.Keys() {
			if strings.HasPrefix(key, "holdfast_fair_") || key == "orders" {
				t.Errorf("%s is left behind", key)
			}
		}
	})
}

// A hand-off is one message and one renewal. Waiters that come and wait cost a
// request each, and one look per client and second.
func TestFair_requests(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		holder, c := w.client(), w.client()
		h := must[*lock.Hold](t)(holder.NewFairLock("orders").Acquire(ctx))
		waits, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() { _, _ = c.NewFairLock("orders").Acquire(waits) })
		}
		time.Sleep(3 * time.Second)
		before := w.count("evalsha")
		time.Sleep(10 * time.Second)
		if n := w.count("evalsha") - before; n > 14 {
			t.Errorf("300 waiters of one client made %d requests in 10s", n)
		}
		cancel()
		wg.Wait()
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if n := w.server.Exists("holdfast_fair_queue:{orders}"); n {
			t.Error("cancelled waiters have left places behind")
		}
	})
}

// A waiter may fail at each place in the queue. The others get the lock in their order,
// and none gets it twice.
func TestFair_aWaiterFails(t *testing.T) {
	fates := map[string]struct {
		fate func(w *world, cut func(), cancel func())
		most time.Duration // until the last one has got the lock
	}{
		"dead":    {func(w *world, cut, cancel func()) { cut() }, 5 * time.Second},
		"cancels": {func(w *world, cut, cancel func()) { cancel() }, time.Second},
	}
	for name, f := range fates {
		for at := range 4 {
			for _, early := range []bool{true, false} {
				t.Run(fmt.Sprint(name, at, early), func(t *testing.T) {
					inBubble(t, func(t *testing.T, w *world) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						r := newTurns(t)
						var wg sync.WaitGroup
						h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(t.Context()))
						others := []string{"a", "b", "c"}
						w.queue(r, &wg, others[:at]...)
						var conns sync.Mutex
						var links []*link
						dead := false
						weak := w.clientOn(w.redis(func(o *redis.Options) {
							o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
								conns.Lock()
								defer conns.Unlock()
								if dead {
									return nil, io.EOF
								}
								conn, err := w.dial(ctx, network, addr)
								if err == nil {
									links = append(links, conn.(*link))
								}
								return conn, err
							}
						}), lock.WithWatchdogTimeout(3*time.Second))
						failed := make(chan error, 1)
						go func() {
							h, err := weak.NewFairLock("orders").Acquire(ctx)
							if err == nil {
								r.work("weak", h, time.Millisecond)
								err = h.Release(t.Context())
							}
							failed <- err
						}()
						time.Sleep(10 * time.Millisecond)
						w.queue(r, &wg, others[at:]...)
						time.Sleep(2500 * time.Millisecond)
						cut := func() {
							conns.Lock()
							defer conns.Unlock()
							dead = true
							for _, l := range links {
								l.mute.Store(true)
							}
						}
						if early { // before the lock is released
							f.fate(w, cut, cancel)
							time.Sleep(100 * time.Millisecond)
						}
						start := time.Now()
						if err := h.Release(t.Context()); err != nil {
							t.Fatal(err)
						}
						if !early { // when it is on its way through the queue
							time.Sleep(time.Duration(at)*102*time.Millisecond + 500*time.Microsecond)
							f.fate(w, cut, cancel)
						}
						wg.Wait()
						if d := time.Since(start); d > f.most {
							t.Errorf("the last one got the lock after %v", d)
						}
						if got := r.served("weak"); got != "abc" {
							t.Errorf("served %s", got)
						}
						cancel()
						<-failed
					})
				})
			}
		}
	}
}

// A message that is lost costs one look, and not the lock.
func TestFair_aHandOffIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		r := newTurns(t)
		var wg sync.WaitGroup
		var conns sync.Mutex
		var links []*link
		first := false
		w.dialed = func(l *link) {
			conns.Lock()
			defer conns.Unlock()
			if first {
				links = append(links, l)
			}
		}
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		conns.Lock()
		first = true
		conns.Unlock()
		w.queue(r, &wg, "a")
		time.Sleep(100 * time.Millisecond) // a is subscribed
		conns.Lock()
		first = false
		conns.Unlock()
		w.queue(r, &wg, "b")
		time.Sleep(2200 * time.Millisecond)
		conns.Lock()
		for _, l := range links {
			if l.subs.Load() {
				l.Close() // the subscription is gone, and comes again after the message
			}
		}
		conns.Unlock()
		start := time.Now()
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if got := strings.Join(r.who, ""); got != "ab" {
			t.Errorf("served %s", got)
		}
		if d := time.Since(start); d > 1300*time.Millisecond {
			t.Errorf("a lost message cost %v", d)
		}
	})
}

// A waiter whose wait ends while it is cut off may have been handed the lock. It must
// not say that somebody else has it.
func TestFair_aWaitEndsWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, handed := range []bool{true, false} {
			w.dialed = nil
			h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
			var mu sync.Mutex
			var links []*link
			cut := false
			w.dialed = func(l *link) {
				mu.Lock()
				defer mu.Unlock()
				l.mute.Store(cut)
				links = append(links, l)
			}
			waiter := w.client()
			failed := make(chan error, 1)
			go func() {
				_, err := waiter.NewFairLock("orders").Acquire(ctx, lock.Wait(2*time.Second))
				failed <- err
			}()
			time.Sleep(1500 * time.Millisecond)
			mu.Lock()
			w.dialed = func(l *link) { l.mute.Store(handed) }
			for _, l := range links {
				l.mute.Store(handed)
			}
			mu.Unlock()
			if !handed {
				wantErr(t, "a wait that ends with an answer", <-failed, lock.ErrBusy)
			}
			if err := h.Release(ctx); err != nil {
				t.Fatal(err)
			}
			if !handed {
				continue
			}
			if !w.server.Exists("orders") {
				t.Error("the lock was not handed on")
			}
			wantErr(t, "a wait that ends without an answer", <-failed, lock.ErrUnknown)
			if err := waiter.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second) // the place ends
		}
	})
}

// Between a hand-off and its first renewal lie several messages. A waiter that looks
// often has no less time for them.
func TestFair_aShortPollShortensNoPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.setLatency(60 * time.Millisecond)
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		c := w.client(lock.WithSafetyPoll(50 * time.Millisecond))
		got := make(chan *lock.Hold, 1)
		go func() {
			h, _ := c.NewFairLock("orders").Acquire(ctx)
			got <- h
		}()
		time.Sleep(4 * time.Second) // longer than a place lasts without a look
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if h = <-got; h == nil {
			t.Fatal("not handed on")
		}
		if d := time.Since(start); d > 10*time.Millisecond {
			t.Errorf("handed on after %v", d)
		}
		time.Sleep(time.Second)
		if err := h.Release(ctx); err != nil {
			t.Errorf("the release of a hold that was handed on: %v", err)
		}
	})
}

// The owner of a lost hold waits anew before the server has the release of that hold.
// The release hands the lock to the same owner, and must not hide that.
func TestFair_aLateReleaseHandsTheLockToItsOwner(t *testing.T) {
	for _, renewed := range []bool{true, false} {
		inBubble(t, func(t *testing.T, w *world) {
			ctx := t.Context()
			l := w.client().NewFairLock("orders")
			h := must[*lock.Hold](t)(l.Acquire(ctx, lock.Lease(time.Second)))
			<-h.Context().Done() // its release goes out twice, as the server does not know the script yet
			start := time.Now()
			var opts []lock.AcquireOption
			if !renewed {
				opts = append(opts, lock.Lease(10*time.Second))
			}
			again := must[*lock.Hold](t)(l.Acquire(ctx, opts...))
			if d := time.Since(start); d > 100*time.Millisecond {
				t.Errorf("granted after %v", d)
			}
			time.Sleep(5 * time.Second)
			if err := again.Release(ctx); err != nil {
				t.Errorf("the release of the second hold (renewed: %v): %v", renewed, err)
			}
			wantErr(t, "the release of the first", h.Release(ctx), lock.ErrLost)
		})
	}
}

// A place may last longer than the lease that its owner asks for; the lock may not.
func TestFair_aHandOffIsNoLongerThanTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		next := make(chan *lock.Hold, 1)
		c := w.client(lock.WithWatchdogTimeout(time.Second))
		go func() {
			h, _ := c.NewFairLock("orders").Acquire(ctx)
			next <- h
		}()
		time.Sleep(10 * time.Millisecond)
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if ttl := w.server.TTL("orders"); ttl > time.Second {
			t.Errorf("handed on for %v, and a second was asked for", ttl)
		}
		if h := <-next; h == nil || h.Remaining() > time.Second {
			t.Error("the waiter counts on more than its lease")
		} else if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A failover that forgets lock and queue costs the order, and no waiter waits for ever.
func TestFair_aFailoverForgetsTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r := newTurns(t)
		var wg sync.WaitGroup
		must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(t.Context(), lock.Lease(2*time.Second)))
		w.queue(r, &wg, "a", "b", "c", "d")
		time.Sleep(1900 * time.Millisecond)
		w.server.FlushAll()
		start := time.Now()
		wg.Wait()
		if len(r.who) != 4 {
			t.Errorf("served %v", r.who)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("the last one got the lock after %v", d)
		}
	})
}

// A failover that forgets a release leaves a ghost: a hold without an owner. The owner
// that released it must not take it for its own: the server handed the lock to another
// one meanwhile.
func TestFair_aFailoverForgetsTheRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewFairLock("orders")
		h := must[*lock.Hold](t)(l.Acquire(ctx, lock.Lease(2*time.Second)))
		field, id := w.owners("orders")[0], w.server.HGet("orders", "hold")
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		w.server.HSet("orders", field, "1", "hold", id, "last", id)
		w.server.SetTTL("orders", 2*time.Second)
		start := time.Now()
		_, err := l.Acquire(ctx, lock.Wait(0))
		wantErr(t, "a try within the lease", err, lock.ErrBusy)
		h = must[*lock.Hold](t)(l.Acquire(ctx))
		if d := time.Since(start); d < 1900*time.Millisecond || d > 2200*time.Millisecond {
			t.Errorf("granted after %v, within a lease of 2s or long after it", d)
		}
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A hold that was handed on lasts no longer than the place would have, unless its
// first renewal arrives.
func TestFair_aHandOffThatIsNeverRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		c := w.clientOn(w.redis(noRetries))
		got := make(chan *lock.Hold, 1)
		go func() {
			h, _ := c.NewFairLock("orders").Acquire(ctx)
			got <- h
		}()
		time.Sleep(2200 * time.Millisecond)
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		w.hung.Store(true) // from here on nothing arrives, but what is handed on does
		h = <-got
		if h == nil {
			t.Fatal("not handed on")
		}
		if d := h.Remaining(); d > 3*time.Second {
			t.Errorf("%v remain of a place of 3s", d)
		}
		<-h.Context().Done()
		wantErr(t, "the end of the place's lease", context.Cause(h.Context()), lock.ErrLost)
		if ttl := w.server.TTL("orders"); ttl <= 0 {
			t.Error("the server was first")
		}
		w.hung.Store(false)
		_ = h.Release(ctx)
	})
}

// The formats exclude each other on one name, and never fail on the other's keys.
func TestFair_besideTheOtherFormats(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		r := newTurns(t)
		var wg sync.WaitGroup
		for i := range 6 {
			c := w.client()
			wg.Go(func() {
				for range 5 {
					var h *lock.Hold
					var err error
					if i%2 == 0 {
						h, err = c.NewFairLock("orders").Acquire(ctx)
					} else {
						h, err = c.Acquire(ctx, "orders")
					}
					if err != nil {
						t.Error(err)
						return
					}
					r.work(fmt.Sprint(i), h, 5*time.Millisecond)
					if err := h.Release(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if len(r.who) != 30 {
			t.Errorf("%d turns of 30", len(r.who))
		}
	})
}

// Many clients with cancelled waits: no holds overlap, tokens grow, nothing is left.
func TestFair_herd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r := newTurns(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		last := uint64(0)
		cancelled := 0
		for i := range 64 {
			c := w.client(lock.WithWatchdogTimeout(10 * time.Second))
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			wg.Go(func() {
				for range 5 {
					opts := []lock.AcquireOption{}
					if rng.IntN(4) == 0 {
						opts = append(opts, lock.Wait(time.Duration(rng.IntN(300))*time.Millisecond))
					}
					h, err := c.NewFairLock("orders").Acquire(t.Context(), opts...)
					if errors.Is(err, lock.ErrBusy) {
						mu.Lock()
						cancelled++
						mu.Unlock()
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if h.Token() <= last {
						t.Errorf("token %d after %d", h.Token(), last)
					}
					last = h.Token()
					mu.Unlock()
					r.work("x", h, 5*time.Millisecond)
					if err := h.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if len(r.who)+cancelled != 320 || cancelled == 0 {
			t.Errorf("%d turns and %d cancelled waits of 320", len(r.who), cancelled)
		}
		synctest.Wait()
		if w.server.Exists("orders") || w.server.Exists("holdfast_fair_queue:{orders}") {
			t.Errorf("left behind: %v", w.server.Keys())
		}
	})
}
