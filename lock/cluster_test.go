package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// In a cluster a message stays on the nodes of its slot, from the first release on. The
// client asks one node whether that is possible, once, before its first request.
func TestCluster_messagesStayInTheirSlot(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		start := time.Now()
		h := must[*lock.Hold](t)(k.client().Acquire(t.Context(), "job-2"))
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, b := k.client(), k.client(lock.WithSafetyPoll(time.Hour))
		for _, name := range []string{"job-1", "job-2", "job-3"} {
			if d := k.handOn(t, a, b, name); d > 5*time.Millisecond {
				t.Errorf("%s: handed on in %v", name, d)
			}
		}
		if n := len(k.seen(start, "publish", "")) + len(k.seen(start, "subscribe", "")); n > 0 {
			t.Errorf("%d requests are about all nodes", n)
		}
		if n := len(k.seen(start, "spublish", "")); n != 7 {
			t.Errorf("%d messages, want one per release", n)
		}
	})
}

// A cluster without sharded channels, and one that does not tell, has messages for all
// nodes, and these work, too.
func TestCluster_messagesForAllNodes(t *testing.T) {
	for name, mode := range map[string]int32{"unknown": unsharded, "refused": refuses} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, k *cluster) {
				k.ask[0].Store(mode)
				k.ask[1].Store(mode)
				start := time.Now()
				a, b := k.client(), k.client(lock.WithSafetyPoll(time.Hour))
				for _, name := range []string{"job-1", "job-2"} {
					if d := k.handOn(t, a, b, name); d > 5*time.Millisecond {
						t.Errorf("%s: handed on in %v", name, d)
					}
				}
				if n := len(k.seen(start, "ssubscribe", "")) + len(k.seen(start, "spublish", "")); n > 0 {
					t.Errorf("%d requests about sharded channels", n)
				}
			})
		})
	}
}

// A node that has not been upgraded yet has no sharded channels. A client that learnt of
// them from another node tells everybody.
func TestCluster_aNodeThatIsNotUpgraded(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		k.ask[1].Store(unsharded)
		a, b := k.client(), k.client(lock.WithSafetyPoll(time.Hour))
		must[bool](t)(b.NewLock("job-1", "b").IsLocked(t.Context()))
		for _, name := range []string{"job-2", "job-1"} {
			if d := k.handOn(t, a, b, name); d > 5*time.Millisecond {
				t.Errorf("%s: handed on in %v", name, d)
			}
		}
	})
}

// The question for sharded channels delays the first request by a tenth of a second at
// most. The subscription asks again, and waits for the answer.
func TestCluster_questionWithoutAnAnswer(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		const ms = time.Millisecond
		k.ask[0].Store(silent)
		c := k.client(lock.WithSafetyPoll(time.Hour))
		start := time.Now()
		l := c.NewLock("job-2", "a")
		must[lock.Grant](t)(l.TryLock(t.Context()))
		if d := time.Since(start); d < 100*ms || d > 105*ms {
			t.Errorf("the first acquire took %v, want 100ms and its own round trip", d)
		}
		must[int](t)(l.Unlock(t.Context()))

		k.nodes[0].occupy("job-2")
		start = time.Now()
		granted := waiting(t.Context(), t, c, "job-2", "b")
		time.Sleep(20 * time.Second) // more than any timeout
		k.ask[0].Store(breaks)
		time.Sleep(20 * time.Second)
		if n := len(k.seen(start, "subscribe", "")) + len(k.seen(start, "ssubscribe", "")); n > 0 {
			t.Errorf("subscribed %d times without an answer", n)
		}
		k.ask[0].Store(sharded)
		time.Sleep(20 * time.Second)
		if n := len(k.seen(start, "ssubscribe", "")); n != 1 || len(k.seen(start, "subscribe", "")) > 0 {
			t.Errorf("%d sharded subscriptions, want one", n)
		}
		k.nodes[0].server.Del("job-2")
		start = time.Now()
		must[int64](t)(k.redis().SPublish(t.Context(), "redisson_lock__channel:{job-2}", "0").Result())
		soon(t, "released", granted, start, 10*ms)
	})
}

// An answer that takes its time, but less than that, counts for the first release.
func TestCluster_questionWithALateAnswer(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		rdb := k.redis() // it has a connection then
		k.nodes[0].setLatency(30 * time.Millisecond)
		start := time.Now()
		h := must[*lock.Hold](t)(k.nodes[0].clientOn(rdb).Acquire(t.Context(), "job-2"))
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(k.seen(start, "spublish", "")) != 1 || len(k.seen(start, "publish", "")) != 0 {
			t.Error("the first release told all nodes")
		}
	})
}

// A client without a way to its cluster gives an error.
func TestCluster_cannotBeReached(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		k.gone.Store(true)
		c := k.client()
		_, err := c.Acquire(t.Context(), "job-2", lock.Wait(0))
		wantErr(t, "nobody knows the nodes", err, lock.ErrRefused)
		k.gone.Store(false)
		time.Sleep(time.Second)
		must[*lock.Hold](t)(c.Acquire(t.Context(), "job-2", lock.Wait(0)))
	})
}

// A wait ends while the client looks for the node of the lock. No server has said that
// somebody else has it.
func TestCluster_waitEndsBeforeTheRequest(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		k.nodes[0].setLatency(20 * time.Millisecond)
		c, start := k.client(), time.Now()
		_, err := c.Acquire(t.Context(), "job-2", lock.Wait(10*time.Millisecond))
		wantErr(t, "a wait of 10ms", err, lock.ErrRefused)
		if took := time.Since(start); took > 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// A Redis client that is closed too early gives errors to those who wait.
func TestCluster_closedBelowTheLock(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		rdb := k.redis()
		c := k.nodes[0].clientOn(rdb)
		k.nodes[0].occupy("job-2")
		errs := make(chan error, 1)
		go func() {
			_, err := c.Acquire(t.Context(), "job-2")
			errs <- err
		}()
		time.Sleep(1500 * time.Millisecond)
		rdb.Close()
		for _, l := range k.nodes[0].open() {
			l.Close()
		}
		if err := <-errs; !errors.Is(err, lock.ErrRefused) && !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("waiter: %v", err)
		}
		if _, err := c.Acquire(t.Context(), "job-3", lock.Wait(0)); err == nil {
			t.Error("acquired without a server")
		}
	})
}

// A slot goes to another node. Its waiters go with it, soon, and are woken there. The
// other waiters stay where they are.
func TestCluster_slotMoves(t *testing.T) {
	tests := []struct {
		name        string
		stays, busy bool // who else waits, at the old node and at the new one
		broken      bool // the old node says nothing, and its connections break
	}{
		{name: "away from other waiters", stays: true},
		{name: "to other waiters", busy: true},
		{name: "between other waiters", stays: true, busy: true},
		{name: "alone"},
		{name: "with the connection", broken: true},
		{name: "with the connection, between other waiters", stays: true, busy: true, broken: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, k *cluster) {
				const ms = time.Millisecond
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c, rdb := k.client(lock.WithSafetyPoll(time.Hour)), k.redis()
				k.nodes[0].occupy("job-2", "job-3", "job-7")
				k.nodes[1].occupy("job-1", "job-3", "job-7")
				released := func(name string, granted <-chan time.Time) {
					t.Helper()
					start := time.Now()
					k.nodes[k.at(name)].server.Del(name)
					must[int64](t)(rdb.SPublish(ctx, "redisson_lock__channel:{"+name+"}", "0").Result())
					soon(t, name, granted, start, 10*ms)
				}
				var stays, busy <-chan time.Time
				if tt.stays {
					stays = waiting(ctx, t, c, "job-2", "a")
				}
				if tt.busy {
					busy = waiting(ctx, t, c, "job-1", "a")
				}
				first := waiting(ctx, t, c, "job-3", "first")
				time.Sleep(10 * ms)
				second := waiting(ctx, t, c, "job-3", "second")
				go c.NewLock("job-7", "a").TryLock(ctx, lock.Wait(5*time.Second))
				time.Sleep(1500 * ms)

				loads := k.loads.Load()
				start := time.Now()
				if tt.broken {
					k.first.Store(4000)
					for _, l := range k.nodes[0].subscribed() {
						l.Close()
					}
				} else {
					k.split(4000)
				}
				time.Sleep(500 * ms)
				if at := k.nodes[1].seen(start, "evalsha", " job-3 "); len(at) != 1 || at[0] > 320*ms {
					t.Errorf("asked at the new node at %v, want once and soon", at)
				}
				released("job-3", first)
				must[int](t)(c.NewLock("job-3", "first").Unlock(ctx))
				soon(t, "second", second, start, 520*ms)
				if n := k.loads.Load() - loads; n > 4 {
					t.Errorf("asked %d times for the slots", n)
				}

				loads = k.loads.Load()
				time.Sleep(17 * time.Second)
				if n := k.loads.Load() - loads; n > 1 {
					t.Errorf("asked %d times for the slots in 17s after that", n)
				}
				if tt.stays {
					released("job-2", stays)
				}
				if tt.busy {
					released("job-1", busy)
				}
				time.Sleep(3 * time.Second)
				if n := len(k.nodes[0].subscribed()) + len(k.nodes[1].subscribed()); n > 0 {
					t.Errorf("%d connections for subscriptions without a waiter", n)
				}
			})
		})
	}
}

// Each sharded channel has a command of its own. All of them are sent again on a new
// connection, and end together.
func TestCluster_manyLocksOfANode(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		const ms = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		names := []string{"job-2", "job-3", "job-7"}
		k.nodes[0].occupy(names...)
		c := k.client(lock.WithSafetyPoll(time.Hour))
		short, done := context.WithTimeout(ctx, 2*time.Second)
		defer done()
		for _, name := range names[1:] {
			waiting(short, t, c, name, "a")
		}
		stays := waiting(ctx, t, c, names[0], "a")
		time.Sleep(1500 * ms)
		start, loads := time.Now(), k.loads.Load()
		for _, l := range k.nodes[0].subscribed() {
			l.Close()
		}
		time.Sleep(8 * time.Second)
		if n := k.loads.Load() - loads; n > 0 {
			t.Errorf("asked %d times for the slots, and none has moved", n)
		}
		for _, name := range names {
			same(t, name+" subscribed again", k.seen(start, "ssubscribe", "{"+name+"}"), 100*ms)
		}
		for _, name := range names[1:] {
			same(t, name+" unsubscribed", k.seen(start, "sunsubscribe", "{"+name+"}"), 1500*ms)
		}
		start = time.Now()
		k.nodes[0].server.Del(names[0])
		must[int64](t)(k.redis().SPublish(ctx, "redisson_lock__channel:{job-2}", "0").Result())
		soon(t, "the one that stays", stays, start, 10*ms)
	})
}

// Each request to a cluster is about one lock, since another may be in another slot of
// the same node.
func TestCluster_oneLockPerRequest(t *testing.T) {
	inCluster(t, func(t *testing.T, k *cluster) {
		c := k.client(lock.WithWatchdogTimeout(3 * time.Second))
		names := []string{"job-2", "job-3", "job-7"}
		for _, name := range names {
			must[*lock.Hold](t)(c.Acquire(t.Context(), name))
		}
		time.Sleep(10 * time.Second)
		for _, e := range k.nodes[0].arrived() {
			about := 0
			for _, name := range names {
				if strings.HasPrefix(e.cmd, "EVAL") && slices.ContainsFunc(e.args, func(arg string) bool { return tag(arg) == name }) {
					about++
				}
			}
			if about > 1 {
				t.Fatalf("a request is about %d locks: %q", about, e.args[1:])
			}
		}
	})
}
