package lock_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// WAIT concerns the writes of one connection, which a client of a user's own may not give.
func TestNew_refusesReplicaAcksWithoutAConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for rdb, ok := range map[redis.UniversalClient]bool{w.redis(): true, wrapped{w.redis()}: false} {
			c, err := lock.New(rdb, lock.WithReplicaAcks(1, time.Millisecond))
			if ok != (err == nil) || !ok && !strings.Contains(err.Error(), "lock_test.wrapped") {
				t.Errorf("%T: %v", rdb, err)
			}
			if c != nil {
				c.Close()
			}
		}
	})
}

// The shards of a ring do not share subscriptions, so no waiter would be woken.
func TestNew_refusesARing(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	if _, err := lock.New(ring); err == nil {
		t.Error("a ring was taken")
	}
}

// A process that starts again under its name is not its own past. Otherwise each of its
// owners would send a request in vain.
func TestNew_requestsGoOnAfterARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for range 3 {
			c := w.client(lock.WithID("process"))
			l := c.NewLock("orders", "a")
			before := w.count("EVALSHA")
			must[lock.Grant](t)(l.TryLock(t.Context()))
			if n := w.count("EVALSHA") - before; n != 1 {
				t.Errorf("an acquire took %d requests", n)
			}
			must[int](t)(l.Unlock(t.Context()))
			c.Close()
			time.Sleep(time.Second)
		}
	})
}

// A cancelled context ends an acquire without an answer at the end of the try. A goroutine
// watches it only in a cluster without ContextTimeoutEnabled.
func TestLock_cancelledDuringARequest(t *testing.T) {
	const ms = time.Millisecond
	check := func(t *testing.T, w *world, c *lock.Client, enabled bool) {
		must[lock.Grant](t)(c.NewLock("job-2", "other").TryLock(t.Context()))
		w.hung.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*ms, cancel)
		start := time.Now()
		if _, err := c.NewLock("job-2", "a").Lock(ctx); err == nil {
			t.Error("granted without an answer")
		}
		// A tenth of the unlock timeout goes to the try, and another to taking it back.
		least, most := 100*ms, 610*ms
		if enabled {
			least, most = 500*ms, 1010*ms
		}
		if d := time.Since(start); d < least || d > most {
			t.Errorf("returned after %v, want between %v and %v", d, least, most)
		}
		w.hung.Store(false)
	}
	for name, enabled := range map[string]bool{"go-redis defaults": false, "ContextTimeoutEnabled": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				check(t, w, w.clientOn(w.redis(noRetries, func(o *redis.Options) {
					o.ContextTimeoutEnabled, o.ReadTimeout = enabled, 2*time.Second
				})), true)
			})
		})
		t.Run(name+"/cluster", func(t *testing.T) {
			inCluster(t, func(t *testing.T, k *cluster) {
				check(t, k.nodes[0], k.nodes[0].clientOn(k.redis(func(o *redis.ClusterOptions) {
					o.ContextTimeoutEnabled, o.ReadTimeout = enabled, 2*time.Second
					o.MaxRetries, o.MaxRedirects = -1, -1
				})), enabled)
			})
		})
	}
}

// caller is a context that counts what others have registered with it.
type caller struct {
	context.Context
	done chan struct{}
	open atomic.Int64
}

func (c *caller) Done() <-chan struct{} { return c.done }

func (c *caller) AfterFunc(func()) func() bool {
	c.open.Add(1)
	return sync.OnceValue(func() bool { return c.open.Add(-1) >= 0 })
}

// A context lives as long as a service, and has many calls. None of them leaves
// something in it, nor keeps it in the client.
func TestLock_leavesNothingInAContext(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client()
		calls := func(ctx context.Context) {
			l := c.NewLock("orders", "a")
			must[lock.Grant](t)(l.TryLock(ctx))
			must[lock.Grant](t)(l.Lock(ctx))
			must[int](t)(l.Unlock(ctx))
			_, err := c.NewLock("orders", "b").TryLock(ctx, lock.Wait(10*time.Millisecond))
			wantErr(t, "busy", err, lock.ErrBusy)
			must[int](t)(l.Unlock(ctx))
			h := must[*lock.Hold](t)(c.Acquire(ctx, "stock"))
			if err := h.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		ctx := &caller{Context: context.Background(), done: make(chan struct{})}
		calls(ctx)
		if n := ctx.open.Load(); n != 0 {
			t.Errorf("%d functions wait for the end of the context", n)
		}
		type key struct{}
		var large []weak.Pointer[[1 << 16]byte]
		for range 10 {
			of := new([1 << 16]byte)
			large = append(large, weak.Make(of))
			calls(context.WithValue(t.Context(), key{}, of))
		}
		time.Sleep(time.Minute)
		if left := inUse(large); left > 2 { // connections and pools may know the last one
			t.Errorf("%d of 10 contexts are in use after their calls", left)
		}
	})
}

// inUse counts the pointers to what the collector of garbage leaves alone.
func inUse[T any](all []weak.Pointer[T]) (n int) {
	runtime.GC()
	runtime.GC()
	for _, p := range all {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// A client forgets the name of a lock without a holder and without a waiter. Names often
// tell of orders or customers, and there is no end of them.
func TestClient_forgetsNames(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		var names []weak.Pointer[byte]
		for i := range 20 {
			name := strings.Repeat(string(rune('A'+i)), 1000)
			names = append(names, weak.Make(unsafe.StringData(name)))
			h := must[*lock.Hold](t)(c.Acquire(ctx, name))
			_, err := c.Acquire(ctx, name, lock.Wait(10*time.Millisecond))
			wantErr(t, "a second call", err, lock.ErrBusy)
			if err := h.Release(ctx); err != nil {
				t.Error(err)
			}
			l := c.NewLock(name, "a")
			must[lock.Grant](t)(l.TryLock(ctx))
			must[int](t)(l.Unlock(ctx))
		}
		time.Sleep(time.Minute)
		if left := inUse(names); left > 2 { // connections and pools may know the last one
			t.Errorf("%d of 20 names are in use after the last call", left)
		}
	})
}

// seeded is a source of jitter.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// polls returns the pauses between the requests of one waiter.
func polls(t *testing.T, r *rand.Rand, name, owner string) []time.Duration {
	var pauses []time.Duration
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.occupy(name)
		start := time.Now()
		waiting(ctx, t, w.client(lock.WithRand(r)), name, owner)
		time.Sleep(2 * time.Minute)
		at := w.seen(start, "evalsha", " "+name+" ")
		for i := 3; i < len(at); i++ { // the first pause is cut short by the subscription
			pauses = append(pauses, at[i]-at[i-1]-w.latency())
		}
	})
	return pauses
}

// A poll comes up to a quarter early, by chance, so that waiters that began together do
// not ask together for ever. One seed gives one sequence for each owner of each lock.
func TestWait_pollsAtRandomTimes(t *testing.T) {
	first := polls(t, seeded(1), "ab", "c")
	if least, most := slices.Min(first), slices.Max(first); least < 750*time.Millisecond || least > 780*time.Millisecond || most > time.Second || most < 970*time.Millisecond {
		t.Errorf("pauses between %v and %v", least, most)
	}
	if again := polls(t, seeded(1), "ab", "c"); !slices.Equal(first, again) {
		t.Errorf("one seed gives\n%v and\n%v", first, again)
	}
	for what, other := range map[string][]time.Duration{
		"seed":                     polls(t, seeded(2), "ab", "c"),
		"name":                     polls(t, seeded(1), "xy", "c"),
		"owner":                    polls(t, seeded(1), "ab", "d"),
		"border of name and owner": polls(t, seeded(1), "a", "bc"),
	} {
		if first[0] == other[0] || slices.Equal(first, other) {
			t.Errorf("another %s does not change the pauses", what)
		}
	}
	if one, other := polls(t, nil, "ab", "c"), polls(t, nil, "ab", "c"); slices.Equal(one, other) {
		t.Error("two clients without a seed of their own have the same pauses")
	}
}
