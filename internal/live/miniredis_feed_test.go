package live

import (
	"slices"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/toxics"
)

// onMiniredis starts servers of miniredis.
func onMiniredis(t *testing.T, o servers.Options) *servers.Servers {
	t.Helper()
	o.Backend.Miniredis = livetest.Miniredis(t)
	return start(t, o)
}

func TestMiniredisStartsAgainWithoutItsData(t *testing.T) {
	t.Parallel()
	s := onMiniredis(t, servers.Options{Clients: 1, Groups: 1})
	check(t, admin(t, s, "node-1").Set(t.Context(), "lock:old", "x", 0).Err())
	v := observe(t, s)
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Set(ctx, "lock", "a", 0).Err())
	check(t, c.Set(ctx, "lock:short", "b", 30*time.Millisecond).Err())
	check(t, s.StopNode("node-1"))
	v.changes("node-1")
	time.Sleep(30 * time.Millisecond) // until it has expired while no observer was there
	if err := s.StartNode("node-1", true); err == nil {
		t.Error("it promises to keep data that it does not have")
	}
	check(t, s.StartNode("node-1", false))
	check(t, c.Set(ctx, "lock", "d", 0).Err())
	check(t, s.ShutDown("node-1"))
	check(t, s.StartNode("node-1", false))
	// On a busy machine the short one may expire before the node stops.
	v.wantByKey("node-1",
		"primary lock: nothing -> a (SET by client-1)",
		"primary lock: a -> nothing (restart)",
		"primary lock: nothing -> d (SET by client-1)",
		"primary lock: d -> nothing (restart)",
		"primary lock:old: nothing -> x (restart)",
		"primary lock:old: x -> nothing (restart)",
		"primary lock:short: nothing -> b for a time (SET by client-1)",
		"primary lock:short: b for a time -> nothing (expiry)",
	)
}

func TestAKeyOfMiniredisThatRanOutWhileItWasSuspendedEndedInTime(t *testing.T) {
	t.Parallel()
	s := onMiniredis(t, servers.Options{Clients: 1, Groups: 1})
	v := observe(t, s)
	c := client(t, s, "client-1", 1)
	check(t, c.Set(t.Context(), "lock", "a", 50*time.Millisecond).Err())
	check(t, s.Suspend("node-1"))
	time.Sleep(200 * time.Millisecond) // it sees nothing of this
	check(t, s.Continue("node-1"))
	eventually(t, "the key expires", func() bool { return len(v.changes("node-1")) == 2 })
	changes := v.want("node-1",
		"primary lock: nothing -> a for a time (SET by client-1)",
		"primary lock: a for a time -> nothing (expiry)",
	)
	if len(changes) < 2 {
		return
	}
	if took := changes[1].At.Sub(changes[0].At); (took - 50*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("50ms lasted %s", took)
	}
}

func TestWhatRemainsOfClientsOfMiniredisIsCounted(t *testing.T) {
	t.Parallel()
	s := onMiniredis(t, servers.Options{Clients: 1, Groups: 2})
	observe(t, s)
	c := client(t, s, "client-1", 2)
	ctx := t.Context()
	check(t, c.Set(ctx, "k", "v", 0).Err())
	sub := c.Subscribe(ctx, "news")
	_, err := sub.Receive(ctx)
	check(t, err)
	psub := c.PSubscribe(ctx, "n*")
	_, err = psub.Receive(ctx)
	check(t, err)
	keys, err := s.Keys(ctx)
	check(t, err)
	n, err := s.Subscriptions(ctx)
	check(t, err)
	if !slices.Equal(keys, []servers.Key{{Node: "node-2", Name: "k"}}) || n != 2 {
		t.Errorf("%v remains, with %d subscriptions", keys, n)
	}
	check(t, c.Publish(ctx, "news", "hello").Err())
	if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
		t.Errorf("a subscriber gets %v, %v", m, err)
	}
	// A connection that breaks takes its subscriptions along.
	check(t, s.Reset(faults.Link{From: "client-1", To: "node-2"}))
	check(t, sub.Close())
	check(t, psub.Close())
	check(t, c.Close())
	eventually(t, "nothing is left", func() bool {
		n, err := s.Subscriptions(ctx)
		check(t, err)
		return n == 0 && s.ClientConnections() == 0
	})
}

func TestARequestToMiniredisThatIsHeldIsExecutedLater(t *testing.T) {
	t.Parallel()
	s := onMiniredis(t, servers.Options{Clients: 1, Groups: 1})
	v := observe(t, s)
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Ping(ctx).Err())
	detach, err := s.Attach(faults.Link{From: "client-1", To: "node-1"}, stream.Upstream, &toxics.Delay{By: 200 * time.Millisecond})
	check(t, err)
	begin := time.Now()
	check(t, c.Set(ctx, "lock", "a", 0).Err())
	detach()
	changes := v.want("node-1", "primary lock: nothing -> a (SET by client-1)")
	if len(changes) == 1 && changes[0].At.Sub(begin) < 200*time.Millisecond {
		t.Errorf("a request that is delayed by 200ms was executed after %s", changes[0].At.Sub(begin))
	}
}
