package lock_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/lock"
)

// renewals returns when renewals of an owner arrived, since start.
func (w *world) renewals(field string, start time.Time) []time.Duration {
	var at []time.Duration
	for _, e := range w.arrived() {
		if e.cmd == "PEXPIRE" && e.args[0] == strings.Split(field, "@")[1] && !e.at.Before(start) {
			at = append(at, e.at.Sub(start))
		}
	}
	return at
}

func TestWatchdog_renewsWhileHeldOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		l := w.client().NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		start := time.Now()
		time.Sleep(95 * time.Second)
		at := w.renewals("a@orders", start.Add(time.Second))
		if len(at) != 9 {
			t.Errorf("renewed at %v, want every 10s", at)
		}
		must[int](t)(l.Unlock(ctx))
		start = time.Now()
		time.Sleep(time.Hour)
		if at := w.renewals("a@orders", start); len(at) != 0 {
			t.Errorf("renewed %v after the release", at)
		}
	})
}

// One failed renewal must not stop the rest, or the next hiccup of the network
// ends every long hold.
func TestWatchdog_survivesAFailedRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var failed atomic.Int32
		l := w.client(lock.WithObserver(lock.Observer{
			RenewDone: func(_, _ string, err error) {
				if err != nil {
					failed.Add(1)
				}
			},
		})).NewLock("orders", "a")
		must[lock.Grant](t)(l.Lock(ctx))
		held := l.Context(ctx)
		time.Sleep(9 * time.Second)
		w.hung.Store(true)
		time.Sleep(11 * time.Second)
		w.hung.Store(false)
		time.Sleep(100 * time.Second)
		if failed.Load() == 0 {
			t.Error("no renewal failed: the test shows nothing")
		}
		if held.Err() != nil {
			t.Errorf("the hold ended: %v", context.Cause(held))
		}
		must[int](t)(l.Unlock(ctx))
	})
}

// The server does not answer, so only the holder's own clock can stop it.
func TestLost_onAHungServer(t *testing.T) {
	tests := []struct {
		name  string
		opts  []lock.AcquireOption
		until time.Duration
	}{
		{"renewed", nil, 30 * time.Second},
		{"explicit", []lock.AcquireOption{lock.Lease(8 * time.Second)}, 8 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				var told atomic.Int32
				l := w.client(lock.WithObserver(lock.Observer{Lost: func(string, string, time.Duration) { told.Add(1) }})).NewLock("orders", "a")
				sent := time.Now()
				must[lock.Grant](t)(l.Lock(ctx, tt.opts...))
				must[lock.Grant](t)(l.Lock(ctx, tt.opts...))
				lost, held := l.Lost(), l.Context(ctx)
				w.hung.Store(true)
				<-lost
				if d := time.Since(sent); d > tt.until || d < tt.until*9/10 {
					t.Errorf("told after %v, the lease is %v", d, tt.until)
				}
				<-held.Done()
				if cause := context.Cause(held); cause != lock.ErrLost {
					t.Errorf("context ended with %v", cause)
				}
				_, err := l.Unlock(ctx)
				wantErr(t, "first unlock", err, lock.ErrLost)
				_, err = l.Unlock(ctx)
				wantErr(t, "second unlock", err, lock.ErrLost)
				_, err = l.Unlock(ctx)
				wantErr(t, "third unlock", err, lock.ErrNotHeld)
				synctest.Wait() // the timer's goroutine tells the observer
				if n := told.Load(); n != 1 {
					t.Errorf("the observer was told %d times", n)
				}
				w.hung.Store(false)
				time.Sleep(time.Minute)
				if g := must[lock.Grant](t)(l.Lock(ctx)); g.Count != 1 {
					t.Errorf("grant after the loss: %+v", g)
				}
				must[int](t)(l.Unlock(ctx))
			})
		})
	}
}

// A key that is deleted under the holder must not be taken for renewed, nor
// silently taken again by a nested acquire.
func TestLost_keyDeleted(t *testing.T) {
	tests := []struct {
		name string
		do   func(ctx context.Context, l *lock.Reentrant) error
	}{
		{"seen by the watchdog", func(ctx context.Context, l *lock.Reentrant) error {
			<-l.Lost()
			_, err := l.Unlock(ctx)
			return err
		}},
		{"seen by unlock", func(ctx context.Context, l *lock.Reentrant) error {
			_, err := l.Unlock(ctx)
			return err
		}},
		{"seen by a nested lock", func(ctx context.Context, l *lock.Reentrant) error {
			if _, err := l.TryLock(ctx); err == nil {
				return fmt.Errorf("granted")
			}
			_, err := l.Unlock(ctx)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				l := w.client().NewLock("orders", "a")
				must[lock.Grant](t)(l.Lock(ctx))
				lost := l.Lost()
				w.server.Del("orders")
				start := time.Now()
				wantErr(t, "unlock", tt.do(ctx, l), lock.ErrLost)
				select {
				case <-lost:
				default:
					t.Error("Lost was not closed")
				}
				if d := time.Since(start); d > 11*time.Second {
					t.Errorf("seen after %v", d)
				}
				_, err := l.Unlock(ctx)
				wantErr(t, "second unlock", err, lock.ErrNotHeld)
			})
		})
	}
}

// All locks of a client are renewed in one round trip.
func TestWatchdog_batches(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		const locks = 250
		for i := range locks {
			must[lock.Grant](t)(c.NewLock(fmt.Sprintf("job-%03d", i), "a").Lock(ctx))
		}
		time.Sleep(25 * time.Second) // the scripts are loaded with the first
		before := len(w.arrived())
		time.Sleep(10 * time.Second)
		trips := map[time.Time]int{}
		for _, e := range w.arrived()[before:] {
			if e.renews() != "" {
				trips[e.at]++
			}
		}
		if len(trips) != 1 {
			t.Errorf("%d round trips to renew %d locks once: %v", len(trips), locks, trips)
		}
		for i := range locks {
			l := c.NewLock(fmt.Sprintf("job-%03d", i), "a")
			if ttl := must[time.Duration](t)(l.TTL(ctx)); ttl < 19*time.Second {
				t.Errorf("job-%03d has %v left", i, ttl)
			}
			must[int](t)(l.Unlock(ctx))
		}
	})
}

// One key that somebody has overwritten must not cost the client its other
// locks.
func TestWatchdog_keyOfAnotherType(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		names := []string{"job-1", "job-2", "job-3"}
		for _, name := range names {
			must[lock.Grant](t)(c.NewLock(name, "a").Lock(ctx))
		}
		w.server.Del("job-2")
		w.server.Set("job-2", "something else")
		time.Sleep(time.Minute)
		for _, name := range names {
			if lost := closed(c.NewLock(name, "a").Lost()); lost != (name == "job-2") {
				t.Errorf("%s: lost %v", name, lost)
			}
		}
	})
}

// twoNodes returns a client of a cluster of two nodes.
func twoNodes(t *testing.T, one, two *world) *redis.ClusterClient {
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"one:1"},
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{
				{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: "one:1"}}},
				{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: "two:1"}}},
			}, nil
		},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "one:1" {
				return one.dial(ctx, network, addr)
			}
			return two.dial(ctx, network, addr)
		},
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// One node of a cluster that does not answer takes only its own locks.
func TestWatchdog_aHungNodeOfACluster(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		other := newWorld(t)
		defer other.close()
		rdb := twoNodes(t, w, other)
		defer rdb.Close()
		c := w.clientOn(rdb)
		onOther := map[string]bool{}
		for i := range 6 {
			name := fmt.Sprintf("job-%d", i)
			must[lock.Grant](t)(c.NewLock(name, "a").Lock(ctx))
			if other.server.Exists(name) {
				onOther[name] = true
			}
		}
		if len(onOther) == 0 || len(onOther) == 6 {
			t.Fatal("all locks are on one node")
		}
		time.Sleep(5 * time.Second)
		w.hung.Store(true)
		time.Sleep(2 * time.Minute)
		for i := range 6 {
			name := fmt.Sprintf("job-%d", i)
			if lost := closed(c.NewLock(name, "a").Lost()); lost == onOther[name] {
				t.Errorf("%s: lost %v, on the node that answers %v", name, lost, onOther[name])
			}
		}
		w.hung.Store(false)
		time.Sleep(time.Minute)
		c.Close()
	})
}

// pipelines counts the pipelines of a Redis client.
type pipelines struct{ n atomic.Int32 }

func (p *pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (p *pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		p.n.Add(1)
		return next(ctx, cmds)
	}
}

// In a cluster, each node gets one round trip for all of its locks.
func TestWatchdog_requestsToACluster(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		other := newWorld(t)
		defer other.close()
		rdb := twoNodes(t, w, other)
		var sent pipelines
		rdb.AddHook(&sent)
		c := w.clientOn(rdb)
		for i := range 20 {
			must[lock.Grant](t)(c.NewLock(fmt.Sprint("job-", i), "a").Lock(t.Context()))
		}
		time.Sleep(25 * time.Second) // the nodes have the script from here on
		before := sent.n.Load()
		time.Sleep(10 * time.Second)
		if n := sent.n.Load() - before; n != 2 {
			t.Errorf("%d pipelines to renew 20 locks on two nodes", n)
		}
		c.Close()
	})
}

// One renewal prolongs a lock whose hold has ended, and another one finds a loss. The first
// lock is given back, and the server does not answer that. Work under the second one ends
// without a wait for that answer.
func TestWatchdog_aLossDoesNotWaitForAGiveBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c := w.client()
		first, second := must[*lock.Hold](t)(c.Acquire(ctx, "a")), must[*lock.Hold](t)(c.Acquire(ctx, "b"))
		deadline := time.Now().Add(first.Remaining())
		if err := second.Extend(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		w.answers(func(p *server.Peer, cmd string, args ...string) bool {
			switch left := time.Until(deadline); {
			case (entry{cmd: cmd, args: args}).renews() == "":
				return false
			case left > 2*time.Second:
				p.WriteError("ERR not yet")
				return true
			default:
				w.server.Del("b")
				time.Sleep(left)
				w.hung.Store(true)
				return false
			}
		})
		<-second.Context().Done()
		if d := time.Since(deadline); !closed(first.Lost()) || d != 0 {
			t.Errorf("the work ended %v after the answer; the first hold is lost: %v", d, closed(first.Lost()))
		}
		w.hung.Store(false)
	})
}
