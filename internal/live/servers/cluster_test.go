package servers

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

func TestClusterRedirectsThroughProxies(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 3, Replicas: 1, Cluster: true})
	c := client(t, s, "client-1", 1)
	ctx := t.Context()
	for i := range 12 { // some for every slot owner
		check(t, c.Set(ctx, fmt.Sprint("key-", i), i, 0).Err())
	}
	for g := 1; g <= 3; g++ {
		l := faults.Link{From: "client-1", To: fmt.Sprintf("node-%d", g)}
		if s.Connections(l) == 0 {
			t.Errorf("the client reaches node-%d, but not over a link of its own", g)
		}
		keys, err := admin(t, s, l.To).DBSize(ctx).Result()
		if err != nil || keys == 0 {
			t.Errorf("%s has %d keys: %v", l.To, keys, err)
		}
	}
	key := keyIn(t, s, 1)
	a, err := s.Access("client-1")
	check(t, err)
	wrong := redis.NewClient(&redis.Options{Addr: a.Primaries[1], DisableIdentity: true})
	defer wrong.Close()
	moved, err := redirect(wrong.Set(ctx, key, "v", 0).Err())
	if err != nil || a.Map[moved] != a.Primaries[0] {
		t.Errorf("a node sends to %q, %v; the client's own listener for node-1 is %q", moved, err, a.Primaries[0])
	}

	// The owner of a slot is lost together with what its replica had not got.
	check(t, c.Set(ctx, key, "v", 0).Err())
	replicated(t, s, "node-1", "node-1-replica-1")
	heal, err := s.Cut("node-1", "node-1-replica-1")
	check(t, err)
	defer heal()
	check(t, c.Set(ctx, key, "lost", 0).Err())
	check(t, s.StopNode("node-1"))
	check(t, s.Promote("node-1-replica-1"))
	heal()
	eventually(t, "the client finds the new owner", func() bool { return c.Get(ctx, key).Err() == nil })
	if got := c.Get(ctx, key).Val(); got != "v" {
		t.Errorf("the new owner of the slot has %q", got)
	}
}

func TestAnIsolatedClusterNodeComesBackAsReplica(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Clients: 1, Groups: 3, Replicas: 1, Cluster: true})
	ctx := t.Context()
	behindProxies(t, s)
	key := keyIn(t, s, 2)
	check(t, s.Promote("node-2-replica-1"))
	if got := s.Primary(2); got != "node-2-replica-1" {
		t.Errorf("the owner of the second group's slots is %s", got)
	}
	check(t, s.Follow("node-2"))
	c := client(t, s, "client-1", 1)
	check(t, c.Set(ctx, key, "v", 0).Err())
	if got := admin(t, s, "node-2-replica-1").Get(ctx, key).Val(); got != "v" {
		t.Errorf("the new owner has %q", got)
	}
	check(t, s.HandOver("node-2"))
	behindProxies(t, s)
	if got := s.Primary(2); got != "node-2" {
		t.Errorf("after it was handed back the owner is %s", got)
	}
}

// keyIn finds a key in the slots of a group.
func keyIn(t *testing.T, s *Servers, group int) string {
	t.Helper()
	first, last := keyspace.SlotsOf(group, s.opts.Groups)
	for i := range 1000 {
		key := fmt.Sprint("lock-", i)
		slot, err := admin(t, s, "node-1").ClusterKeySlot(t.Context(), key).Result()
		check(t, err)
		if int(slot) >= first && int(slot) <= last {
			return key
		}
	}
	t.Fatal("no key for the group")
	return ""
}

// redirect reads the address of a MOVED reply.
func redirect(err error) (string, error) {
	var slot int
	var addr string
	if err == nil {
		return "", errors.New("no redirection")
	}
	_, scan := fmt.Sscanf(err.Error(), "MOVED %d %s", &slot, &addr)
	return addr, errors.Join(scan)
}
