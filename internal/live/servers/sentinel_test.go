package servers

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The hazard that locks on a replicated Redis have: the write was confirmed,
// the replica had not received it, and the replica takes over.
func TestAConfirmedWriteIsLostInAFailover(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1, Replicas: 2, Sentinel: true})
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Set(ctx, "early", "v", 0).Err())
	replicated(t, s, "node-1", "node-1-replica-1")
	replicated(t, s, "node-1", "node-1-replica-2")
	for _, replica := range []string{"node-1-replica-1", "node-1-replica-2"} {
		heal, err := s.Cut("node-1", replica)
		check(t, err)
		defer heal()
	}
	check(t, c.Set(ctx, "late", "v", 0).Err())
	if err := admin(t, s, "node-1-replica-1").Get(ctx, "late").Err(); !errors.Is(err, redis.Nil) {
		t.Fatalf("the write crossed a cut link: %v", err)
	}
	check(t, s.StopNode("node-1"))
	check(t, s.Promote("node-1-replica-1"))
	if got := s.Primary(1); got != "node-1-replica-1" {
		t.Errorf("the primary is %s", got)
	}
	eventually(t, "the client finds the new primary", func() bool { return c.Get(ctx, "early").Val() == "v" })
	if err := c.Get(ctx, "late").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the confirmed write is not lost: %v", err)
	}
	eventually(t, "the Sentinel's log tells of the failover", func() bool {
		log, err := s.Log("sentinel-1")
		return err == nil && strings.Contains(log, "+switch-master")
	})
}

// replaced waits until the Sentinels have replaced a primary by themselves.
func replaced(t *testing.T, s *Servers, old string) (now string) {
	t.Helper()
	now, err := s.awaitAgreement(t.Context(), 1, old, func(name string) error {
		if name == old {
			return errors.New("it still leads")
		}
		return nil
	})
	check(t, err)
	return now
}

func TestAnIsolatedPrimaryGoesOnServing(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1, Replicas: 2, Sentinel: true})
	behindProxies(t, s)
	ctx := t.Context()
	stale, err := s.Access("client-1")
	check(t, err)
	old := redis.NewClient(&redis.Options{Addr: stale.Map[s.byName["node-1"].door.Addr().String()], DisableIdentity: true})
	defer old.Close()
	check(t, old.Set(ctx, "k", "before", 0).Err())
	// Not the one that Sentinels would choose by themselves.
	check(t, s.Promote("node-1-replica-2"))
	c := client(t, s, "client-1", 1)
	check(t, c.Set(ctx, "k", "new side", 0).Err())
	check(t, old.Set(ctx, "k", "old side", 0).Err())
	if got := c.Get(ctx, "k").Val(); got != "new side" {
		t.Errorf("the new primary has %q", got)
	}
	check(t, s.Follow("node-1"))
	behindProxies(t, s)
	if got := admin(t, s, "node-1").Get(ctx, "k").Val(); got != "new side" {
		t.Errorf("the old primary has %q after it follows the new one", got)
	}
}

func TestAPrimaryHandsOver(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1, Replicas: 1, Sentinel: true})
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	check(t, c.Set(ctx, "k", "v", 0).Err())
	replicated(t, s, "node-1", "node-1-replica-1")
	check(t, s.HandOver("node-1-replica-1"))
	eventually(t, "the client writes to the new primary", func() bool { return c.Set(ctx, "k", "w", 0).Err() == nil })
	if got := admin(t, s, "node-1-replica-1").Get(ctx, "k").Val(); got != "w" {
		t.Errorf("the new primary has %q", got)
	}
	// Back again, through an unannounced crash.
	check(t, s.StopNode("node-1-replica-1"))
	if now := replaced(t, s, "node-1-replica-1"); now != "node-1" {
		t.Errorf("the Sentinels promoted %q", now)
	}
	if err := s.Promote("node-1-replica-1"); err == nil {
		t.Error("a server that is down was promoted")
	}
}

// A replica that has just come back is unsound for the Sentinels, which would
// promote its rival although the order named this one.
func TestAReplicaThatJustCameBackTakesOver(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Groups: 1, Replicas: 2, Sentinel: true})
	for _, to := range []string{"node-1-replica-2", "node-1-replica-1"} {
		check(t, s.StopNode(to))
		check(t, s.StartNode(to, false))
		check(t, s.HandOver(to))
	}
}

func TestNobodyTakesOverWithoutSentinels(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Groups: 1, Replicas: 1})
	for _, err := range []error{s.Promote("node-1-replica-1"), s.HandOver("node-1-replica-1"), s.Follow("node-1")} {
		if err == nil || !strings.Contains(err.Error(), "no Sentinel watches") {
			t.Errorf("got %v", err)
		}
	}
	for _, o := range []Options{{Groups: 1, Sentinel: true}, {Groups: 3, Replicas: 1, Cluster: true, Sentinel: true}} {
		if _, err := Start(t.Context(), o, nil); err == nil {
			t.Errorf("%+v was started", o)
		}
	}
}

// Sentinels replace a dead primary quickly, or every failover scenario waits.
func TestACrashedPrimaryIsReplacedSoon(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 1, Replicas: 2, Sentinel: true, Detect: 500 * time.Millisecond})
	a, err := s.Access("client-1")
	check(t, err)
	a.TimeScale = 0.2
	c := a.Client(1)
	defer c.Close()
	check(t, c.Set(t.Context(), "k", "v", 0).Err())
	begin := time.Now()
	check(t, s.StopNode("node-1"))
	replaced(t, s, "node-1")
	eventually(t, "the client writes again", func() bool { return c.Set(t.Context(), "k", "v", 0).Err() == nil })
	t.Logf("replaced, and written to, %s after the crash", time.Since(begin))
	// Not the time it takes on a good day: a failed election alone costs six
	// seconds, and none is lost without a reason.
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
