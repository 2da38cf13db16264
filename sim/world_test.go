package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/sim"
)

func TestMain(m *testing.M) {
	logging.Disable() // broken connections are the point here
	m.Run()
}

// A clock that jumps back changes no key, so it aborts no transaction.
func TestAClockThatJumpsBackAbortsNoTransaction(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		c.Set(ctx, "k", "v", 30*time.Second)
		time.Sleep(5 * time.Second)
		if err := c.Watch(ctx, func(tx *redis.Tx) error {
			if err := w.SetClock("node-1", -20*time.Second, 1); err != nil {
				return err
			}
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "other", "v", 0).Err() })
			return err
		}, "k"); err != nil {
			t.Error(err)
		}
		if left := c.PTTL(ctx, "k").Val(); left < 44*time.Second || left > 45*time.Second {
			t.Errorf("the key lasts for %v, want 45 s: the server keeps the moment of its end", left)
		}
	})
}

// in runs f against a fresh world in virtual time and closes the world.
func in(t *testing.T, o sim.Options, f func(ctx context.Context, w *sim.World)) {
	t.Helper()
	if o.LatencyMax == 0 {
		o.LatencyMin, o.LatencyMax = 100*time.Microsecond, 900*time.Microsecond
	}
	if o.LockKey == nil {
		o.LockKey = func(string) bool { return true }
	}
	err := sim.Bubble(func() {
		w := sim.New(o)
		f(context.Background(), w)
		w.Close()
		if err := w.Err(); err != nil {
			t.Error(err)
		}
	})
	must.Succeed(t, err)
}

func TestCommandsTakeARoundTripOfVirtualTime(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		if err := c.Ping(ctx).Err(); err != nil { // connects first
			t.Fatal(err)
		}
		start := time.Now()
		must.Succeed(t, c.Set(ctx, "k", "v", 0).Err())
		if d := time.Since(start); d < 200*time.Microsecond || d > 1800*time.Microsecond {
			t.Errorf("a SET took %v of virtual time, want one round trip of 0.2 to 1.8 ms", d)
		}
	})
}

func TestKeysExpireByTheServersClock(t *testing.T) {
	var events []string
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, OnChange: func(c keyspace.Change) {
		events = append(events, c.Cause)
	}}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		set := func() { c.Set(ctx, "k", "v", 10*time.Second) }
		left := func() time.Duration { return c.PTTL(ctx, "k").Val().Round(time.Second) }

		set()
		time.Sleep(9 * time.Second)
		if d := left(); d != time.Second {
			t.Errorf("after 9 s: %v left, want 1s", d)
		}
		time.Sleep(2 * time.Second)
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Error("the key outlived its TTL")
		}
		set()
		w.SetClock("node-1", 20*time.Second, 1)
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Error("a jump forward past the TTL did not expire the key")
		}
		set()
		w.SetClock("node-1", -20*time.Second, 1)
		if d := left(); d != 30*time.Second {
			t.Errorf("after a jump back by 20 s: %v left, want 30s", d)
		}
		w.SetClock("node-1", 0, 2)
		time.Sleep(14 * time.Second)
		if d := left(); d != 2*time.Second {
			t.Errorf("after 14 s at double speed: %v left, want 2s", d)
		}
	})
	if got, want := strings.Join(events, " "), "command expiry command expiry command"; got != want {
		t.Errorf("ground truth: %s, want %s", got, want)
	}
}

func TestFailoverLosesWhatHadNotArrived(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, Replicas: 1, Lag: time.Second}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		time.Sleep(10 * time.Second) // let the replica connect
		c.Set(ctx, "old", "v", 0)
		time.Sleep(5 * time.Second)
		c.Set(ctx, "new", "v", 0)
		w.StopNode("node-1")
		w.Promote("node-1-replica-1")
		if v, err := c.Get(ctx, "old").Result(); v != "v" {
			t.Errorf("replicated key after failover: %q, %v", v, err)
		}
		if _, err := c.Get(ctx, "new").Result(); !errors.Is(err, redis.Nil) {
			t.Errorf("the write that had not arrived survived: %v", err)
		}
	})
}

func TestWaitCountsConfirmations(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, Replicas: 2, Lag: 10 * time.Millisecond}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		time.Sleep(time.Second)
		wait := func(n int) (int64, time.Duration) {
			start := time.Now()
			var acks *redis.Cmd
			if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Set(ctx, "k", fmt.Sprint(start.UnixNano()), 0)
				acks = p.Do(ctx, "WAIT", n, 500)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			n64, _ := acks.Int64()
			return n64, time.Since(start)
		}
		if n, d := wait(2); n != 2 || d > 100*time.Millisecond {
			t.Errorf("WAIT 2 with two replicas: %d after %v", n, d)
		}
		w.StopNode("node-1-replica-2")
		if n, d := wait(2); n != 1 || d < 500*time.Millisecond {
			t.Errorf("WAIT 2 with one replica down: %d after %v, want 1 after the timeout", n, d)
		}
	})
}

func TestPauseFreezesAndCrashBreaks(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		c.Ping(ctx)
		w.Pause("client-1")
		time.AfterFunc(10*time.Second, func() { w.Resume("client-1") })
		start := time.Now()
		if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Errorf("a request across a pause: %v", err)
		}
		if d := time.Since(start); d < 10*time.Second {
			t.Errorf("a paused process got a reply after %v", d)
		}
		w.Crash("client-1")
		if err := c.Set(ctx, "k", "w", 0).Err(); err == nil {
			t.Error("a crashed process wrote a key")
		}
	})
}

// The timers of a library fire during a pause, and may close a connection. The
// server must hear of that after the pause, and of what was written before.
func TestPauseKeepsWhatAClosedConnectionHasWritten(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		sub := hearNews(t, ctx, c)
		w.Pause("client-1")
		sub.Close()
		time.Sleep(time.Second)
		if n := w.Subscriptions(); n != 1 {
			t.Errorf("%d subscriptions during the pause, want 1", n)
		}
		w.Resume("client-1")
		time.Sleep(time.Second)
		if n := w.Subscriptions(); n != 0 {
			t.Errorf("%d subscriptions after the pause, want none", n)
		}
	})
}

// With its old connection, a replica would have a part of the data that no primary ever
// had.
func TestARestartedReplicaHasNothingUntilItConnects(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, Replicas: 1}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		time.Sleep(10 * time.Second) // let the replica connect
		c.Set(ctx, "old", "v", 0)
		time.Sleep(time.Second)
		must.Succeed(t, errors.Join(w.StopNode("node-1-replica-1"), w.StartNode("node-1-replica-1", false)))
		c.Set(ctx, "new", "v", 0)
		time.Sleep(100 * time.Millisecond)
		must.Succeed(t, errors.Join(w.StopNode("node-1"), w.Promote("node-1-replica-1")))
		if keys, err := c.Keys(ctx, "*").Result(); err != nil || len(keys) > 0 {
			t.Errorf("the promoted replica has %q, %v, want nothing", keys, err)
		}
	})
}

// Otherwise a failover could find a release on the replica, but not the record of it.
func TestAReplicaHasAScriptAsAWhole(t *testing.T) {
	came := map[time.Time][]string{}
	o := sim.Options{Seed: 1, Clients: 1, Groups: 1, Replicas: 1, LatencyMin: 100 * time.Microsecond, LatencyMax: 900 * time.Microsecond, OnChange: func(c keyspace.Change) {
		if c.Node == "node-1-replica-1" {
			came[c.At] = append(came[c.At], c.Key)
		}
	}}
	in(t, o, func(ctx context.Context, w *sim.World) {
		time.Sleep(time.Second)
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		for range 20 {
			if err := c.Eval(ctx, "redis.call('incr', KEYS[1]) redis.call('incr', KEYS[2]) return 1", []string{"a", "b"}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
	})
	for at, keys := range came {
		if !slices.Equal(keys, []string{"a", "b"}) {
			t.Errorf("the replica got %q at %v, want a and b together", keys, at)
		}
	}
	if len(came) != 20 {
		t.Errorf("the replica got %d scripts, want 20", len(came))
	}
}

// A request that arrives as the server dies is lost with its connection,
// however soon the server is back.
func TestRestartLosesWhatItHasReceived(t *testing.T) {
	var w *sim.World
	restart := func(m faults.Moment) {
		if m.Name != faults.Received || m.Command != "SET" {
			return
		}
		if err := errors.Join(w.StopNode(m.Node), w.StartNode(m.Node, true)); err != nil {
			t.Error(err)
		}
	}
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, OnMoment: restart}, func(ctx context.Context, world *sim.World) {
		w = world
		rdb := redis.NewClient(&redis.Options{Addr: w.Addresses(1)[0], Dialer: w.Dialer(w.Process("client-1")), MaxRetries: -1, DisableIdentity: true})
		defer rdb.Close()
		if err := rdb.Set(ctx, "k", "v", 0).Err(); err == nil {
			t.Error("a server that died has answered")
		}
		if n, err := rdb.Exists(ctx, "k").Result(); err != nil || n != 0 {
			t.Errorf("the request was executed by the server's successor: %d keys, %v", n, err)
		}
	})
}

func TestSubscribersEndWithTheirConnection(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 2, Groups: 1}, func(ctx context.Context, w *sim.World) {
		a, b := w.Client(w.Process("client-1"), 1), w.Client(w.Process("client-2"), 1)
		defer b.Close()
		sub := hearNews(t, ctx, a)
		if n := b.Publish(ctx, "news", "1").Val(); n != 1 {
			t.Errorf("published to %d, want 1", n)
		}
		if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "1" {
			t.Errorf("received %v, %v", m, err)
		}
		sub.Close()
		a.Close()
		time.Sleep(time.Second)
		if n := b.Publish(ctx, "news", "2").Val(); n != 0 {
			t.Errorf("published to %d after the subscriber left", n)
		}
		if n := w.Connections(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestClusterSendsKeysToTheirSlot(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 3, Replicas: 1, Cluster: true}, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer c.Close()
		for i := range 12 {
			must.Succeed(t, c.Set(ctx, fmt.Sprint("k", i), "v", 0).Err())
		}
		nodes := map[string]bool{}
		for _, k := range w.Keys() {
			nodes[k.Node] = true
		}
		if len(nodes) != 3 {
			t.Errorf("keys on %d nodes, want 3: %v", len(nodes), w.Keys())
		}
		time.Sleep(10 * time.Second)
		w.StopNode("node-1")
		w.Promote("node-1-replica-1")
		c.(*redis.ClusterClient).ReloadState(ctx) // otherwise it notices ten seconds later
		time.Sleep(time.Second)
		for i := range 12 {
			if v, err := c.Get(ctx, fmt.Sprint("k", i)).Result(); v != "v" {
				t.Errorf("k%d after failover: %q, %v", i, v, err)
			}
		}
	})
}

func TestABubbleThatCannotEndSaysSo(t *testing.T) {
	var bubble *sim.BubbleError
	if err := sim.Bubble(func() { <-make(chan int) }); !errors.As(err, &bubble) || !strings.Contains(err.Error(), "deadlock") {
		t.Errorf("deadlock: %v", err)
	}
	if err := sim.Bubble(func() { go func() { <-make(chan int) }() }); !errors.As(err, &bubble) {
		t.Errorf("leak: %v", err)
	}
}
