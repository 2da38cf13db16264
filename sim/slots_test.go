package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/sim"
)

// The keys of these tests have the slot 3902, which node-1 owns at first.
const here, absent = "{stock}", "{stock}:absent"

// moving plays f while the slot moves from node-1 to node-2.
func moving(t *testing.T, keysFirst bool, f func(ctx context.Context, w *sim.World, cluster redis.UniversalClient, finish func() error)) []keyspace.Change {
	t.Helper()
	var changes []keyspace.Change
	o := sim.Options{Seed: 1, Clients: 1, Groups: 3, Cluster: true, OnChange: func(c keyspace.Change) { changes = append(changes, c) }}
	in(t, o, func(ctx context.Context, w *sim.World) {
		c := w.Client(w.Process("client-1"), 1)
		defer func() {
			c.Close()
			time.Sleep(time.Minute) // it reads the map of the slots in the background
		}()
		must.Succeed(t, c.Set(ctx, here, "v", time.Minute).Err())
		finish, err := w.MoveSlots("node-1", "node-2", keysFirst)
		must.Succeed(t, err)
		f(ctx, w, c, finish)
	})
	return changes
}

// alone is a client of one node, which follows no redirection.
func alone(w *sim.World, node int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: w.Addresses(3)[node-1], Dialer: w.Dialer(w.Process("client-1")), MaxRetries: -1, DisableIdentity: true,
	})
}

// asking sends a command after ASKING.
func asking(ctx context.Context, c *redis.Client, args ...any) error {
	p := c.Pipeline()
	p.Do(ctx, "asking")
	cmd := p.Do(ctx, args...)
	_, _ = p.Exec(ctx)
	return cmd.Err()
}

// says checks the first word of a node's answer, "" for no error.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if got := errors.Join(err); (got == nil) != (want == "") || got != nil && !strings.HasPrefix(got.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// Until the slot has moved, the old node serves what it has, and the new one what it is
// asked for with ASKING. A request for several keys needs all of them on one node. Real
// servers answer the same, see TestSlotsMoveBetweenRealServers.
func TestNodesRedirectWhileSlotsMove(t *testing.T) {
	two := func(a, b string) []any { return []any{"eval", "return 1", 2, a, b} }
	moving(t, false, func(ctx context.Context, w *sim.World, _ redis.UniversalClient, finish func() error) {
		from, to := alone(w, 1), alone(w, 2)
		defer from.Close()
		defer to.Close()
		says(t, "a key that is here", from.Get(ctx, here).Err(), "")
		says(t, "a key that is not here", from.Get(ctx, absent).Err(), "ASK 3902 10.0.2.1:6379")
		says(t, "one of two", from.Do(ctx, two(here, absent)...).Err(), "TRYAGAIN")
		says(t, "none of two", from.Do(ctx, two(absent, absent+"2")...).Err(), "ASK")
		says(t, "one twice", from.Do(ctx, two(here, here)...).Err(), "")
		says(t, "the new node", to.Get(ctx, absent).Err(), "MOVED 3902 10.0.1.1:6379")
		says(t, "the new node, asked", asking(ctx, to, "set", absent, "v"), "")
		says(t, "the next request", to.Get(ctx, absent).Err(), "MOVED")
		says(t, "the new node, asked for one of two", asking(ctx, to, two(here, absent)...), "TRYAGAIN")
		must.Succeed(t, finish())
		says(t, "the old node afterwards", from.Get(ctx, here).Err(), "MOVED 3902 10.0.2.1:6379")
		says(t, "the new node afterwards", to.Do(ctx, two(here, absent)...).Err(), "")
	})
}

// A client of the cluster finds the keys all the time. Their values and expiry stay, and
// the world reports that they moved.
func TestAClientFollowsItsKeysToAnotherNode(t *testing.T) {
	for _, keysFirst := range []bool{false, true} {
		changes := moving(t, keysFirst, func(ctx context.Context, w *sim.World, c redis.UniversalClient, finish func() error) {
			for _, step := range []func() error{nil, finish} {
				if step != nil {
					must.Succeed(t, step())
				}
				if v, err := c.Get(ctx, here).Result(); v != "v" || err != nil {
					t.Errorf("keys first %v: %q, %v", keysFirst, v, err)
				}
				if left := c.PTTL(ctx, here).Val(); left < 50*time.Second {
					t.Errorf("keys first %v: %s left", keysFirst, left)
				}
				must.Succeed(t, c.Set(ctx, absent, "v", 0).Err())
				must.Succeed(t, c.Del(ctx, absent).Err())
			}
		})
		var moved []string
		for _, c := range changes {
			if c.Cause == "migration" {
				moved = append(moved, c.Node+" "+c.Before.Str+">"+c.After.Str)
			}
		}
		if got := strings.Join(moved, ", "); got != "node-2 >v, node-1 v>" {
			t.Errorf("keys first %v: %s", keysFirst, got)
		}
	}
}

// A request that waits for an element of a list goes on at the node that gets the list.
func TestARequestThatWaitsFollowsItsSlot(t *testing.T) {
	moving(t, false, func(ctx context.Context, w *sim.World, c redis.UniversalClient, finish func() error) {
		must.Succeed(t, finish())
		back, err := w.MoveSlots("node-2", "node-1", false)
		must.Succeed(t, err)
		got := make(chan error, 1)
		go func() { got <- c.BLPop(ctx, time.Minute, absent).Err() }()
		time.Sleep(time.Second)
		must.Succeed(t, back())
		time.Sleep(time.Second)
		must.Succeed(t, c.RPush(ctx, absent, "x").Err())
		must.Succeed(t, <-got)
	})
}

// A message reaches the subscribers of every node of a cluster, also out of a script and of
// a transaction.
func TestAMessageReachesEveryNode(t *testing.T) {
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 3, Cluster: true}, func(ctx context.Context, w *sim.World) {
		from, to := alone(w, 1), alone(w, 2)
		defer from.Close()
		defer to.Close()
		heard := hearNews(t, ctx, to)
		defer heard.Close()
		must.Succeed(t, from.Publish(ctx, "news", "asked").Err())
		must.Succeed(t, from.Eval(ctx, "return redis.call('publish', 'news', 'of a script')", nil).Err())
		for _, end := range []string{"discard", "exec"} {
			p := from.Pipeline()
			p.Do(ctx, "multi")
			p.Do(ctx, "publish", "news", "before "+end)
			p.Do(ctx, end)
			_, err := p.Exec(ctx)
			must.Succeed(t, err)
		}
		for _, want := range []string{"asked", "of a script", "before exec"} {
			m, err := heard.ReceiveMessage(ctx)
			must.Succeed(t, err)
			if m.Payload != want {
				t.Errorf("heard %q, want %q", m.Payload, want)
			}
		}
	})
}
