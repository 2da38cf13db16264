package lock_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// wait starts one more waiter of a client, which works for a while once it has the
// lock. It returns how to end the wait.
func (r *turns) wait(wg *sync.WaitGroup, c *lock.Client, who string) (cancel func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	wg.Go(func() {
		h, err := c.NewFairLock("orders").Acquire(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.t.Errorf("%s: %v", who, err)
			}
			return
		}
		r.work(who, h, 100*time.Millisecond)
		if err := h.Release(r.t.Context()); err != nil {
			r.t.Errorf("%s releases: %v", who, err)
		}
	})
	time.Sleep(10 * time.Millisecond)
	return cancel
}

// Several owners of one process wait for the same lock as others do. Each has a place of
// its own, and all of them share one look.
func TestFair_placesOfOneClient(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		r := newTurns(t)
		var wg sync.WaitGroup
		b, c := w.client(), w.client()
		h := must[*lock.Hold](t)(b.NewFairLock("orders").Acquire(ctx)) // of one of them
		for i := range 3 {
			r.wait(&wg, b, fmt.Sprintf("b%d ", i))
			r.wait(&wg, c, fmt.Sprintf("c%d ", i))
		}
		time.Sleep(3 * time.Second)
		before := w.count("evalsha")
		time.Sleep(10 * time.Second)
		if n := w.count("evalsha") - before; n > 2*14+3 { // and the watchdog of the holder
			t.Errorf("two clients with three waiters each made %d requests in 10s", n)
		}
		start := time.Now()
		if err := h.Release(ctx); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if got := strings.Join(r.who, ""); got != "b0 c0 b1 c1 b2 c2 " {
			t.Errorf("served %s", got)
		}
		if d := time.Since(start); d > 650*time.Millisecond {
			t.Errorf("6 turns took %v", d)
		}
	})
}

// One of several places of a client is given up, before the lock is handed to it, at
// that moment, and afterwards. The others of its client stay where they are.
func TestFair_onePlaceOfSeveralIsGivenUp(t *testing.T) {
	for _, after := range []time.Duration{-time.Second, 0, 500 * time.Microsecond, 1500 * time.Microsecond, 2500 * time.Microsecond} {
		for place := range 3 {
			t.Run(fmt.Sprint(after, place), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					ctx := t.Context()
					r := newTurns(t)
					var wg sync.WaitGroup
					b, c := w.client(), w.client()
					h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
					var cancel [3]func()
					for i := range cancel {
						cancel[i] = r.wait(&wg, b, fmt.Sprintf("b%d ", i))
					}
					r.wait(&wg, c, "c ")
					time.Sleep(1500 * time.Millisecond)
					if after < 0 {
						cancel[place]()
						time.Sleep(-after)
					}
					start := time.Now()
					if err := h.Release(ctx); err != nil {
						t.Fatal(err)
					}
					if after >= 0 {
						time.Sleep(after)
						cancel[place]()
					}
					wg.Wait()
					gone := fmt.Sprintf("b%d ", place)
					if got, want := r.served(gone), strings.Replace("b0 b1 b2 c ", gone, "", 1); got != want {
						t.Errorf("served %s, want %s", got, want)
					}
					if d := time.Since(start); d > 450*time.Millisecond {
						t.Errorf("the last one was done after %v", d)
					}
					if w.server.Exists("orders") || w.server.Exists("holdfast_fair_queue:{orders}") {
						t.Errorf("left behind: %v", w.server.Keys())
					}
				})
			})
		}
	}
}

// A process that dies with several places costs as much as one with a single place:
// they end together.
func TestFair_aClientWithSeveralPlacesDies(t *testing.T) {
	for _, early := range []bool{true, false} {
		t.Run(fmt.Sprint(early), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := newTurns(t)
				var wg, dead sync.WaitGroup
				h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(t.Context()))
				var mu sync.Mutex
				var links []*link
				cut := false
				weak := w.clientOn(w.redis(func(o *redis.Options) {
					o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						mu.Lock()
						defer mu.Unlock()
						conn, err := w.dial(ctx, network, addr)
						if err == nil {
							conn.(*link).mute.Store(cut)
							links = append(links, conn.(*link))
						}
						return conn, err
					}
				}))
				for range 4 {
					dead.Go(func() { _, _ = weak.NewFairLock("orders").Acquire(ctx) })
					time.Sleep(10 * time.Millisecond)
				}
				w.queue(r, &wg, "a", "b")
				time.Sleep(2500 * time.Millisecond)
				mu.Lock()
				cut = true
				for _, l := range links {
					l.mute.Store(true)
				}
				mu.Unlock()
				if early { // their places end before the lock is released
					time.Sleep(3100 * time.Millisecond)
				}
				start := time.Now()
				if err := h.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				wg.Wait()
				most := 4300 * time.Millisecond // the rest of a place, one look, and two turns
				if early {
					most = 250 * time.Millisecond
				}
				if d := time.Since(start); d > most {
					t.Errorf("the last one was done after %v", d)
				}
				if got := strings.Join(r.who, ""); got != "ab" {
					t.Errorf("served %s", got)
				}
				cancel()
				dead.Wait()
			})
		})
	}
}

// A client that polls often does not shorten the life of the queue. A waiter that polls
// seldom keeps its place.
func TestFair_aShortPollCostsNobodyThePlace(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		start := time.Now()
		h := must[*lock.Hold](t)(w.client().NewFairLock("orders").Acquire(ctx))
		var order []string
		var all sync.WaitGroup
		wait := func(name string, opts ...lock.Option) {
			l := w.client(opts...).NewFairLock("orders")
			all.Go(func() {
				h, err := l.Acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, name)
				h.Release(ctx)
			})
		}
		wait("seldom", lock.WithSafetyPoll(10*time.Second))
		time.Sleep(time.Second)
		_, err := w.client().NewFairLock("orders").Acquire(ctx, lock.Wait(300*time.Millisecond)) // 6s of its own
		wantErr(t, "a short wait", err, lock.ErrBusy)
		time.Sleep(time.Until(start.Add(7400 * time.Millisecond)))
		wait("late")
		time.Sleep(50 * time.Millisecond)
		h.Release(ctx)
		all.Wait()
		if !slices.Equal(order, []string{"seldom", "late"}) {
			t.Errorf("granted in the order %v", order)
		}
	})
}
