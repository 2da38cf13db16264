package live

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

func discover(t *testing.T, addresses ...string) (*servers.External, error) {
	t.Helper()
	var list []servers.Address
	for _, text := range addresses {
		a, err := servers.ParseAddress(text)
		check(t, err)
		list = append(list, a)
	}
	return servers.Discover(t.Context(), list, servers.Guest{})
}

// visit uses servers that run already, for a lock of that name.
func visit(t *testing.T, key string, o servers.Options, addresses ...string) *servers.Servers {
	t.Helper()
	external, err := discover(t, addresses...)
	check(t, err)
	o.Backend.External, err = external.Part(t.Context(), key, external.Groups())
	check(t, err)
	return start(t, o)
}

func TestAGuestLeavesNothingAndHarmsNothing(t *testing.T) {
	t.Parallel()
	const key = "holdfast:1:lock[1]"
	addr := livetest.SpawnRedis(t, "requirepass s3cr@t")
	mine := livetest.Dial(t, addr, "s3cr@t")
	defer mine.Close()
	ctx := t.Context()
	for _, k := range []string{"lock[1]", "holdfast:2:lock[1]", "holdfast:1:lock1"} {
		check(t, mine.Set(ctx, k, "mine", 0).Err())
	}
	news := mine.Subscribe(ctx, "news")
	defer news.Close()
	_, err := news.Receive(ctx)
	check(t, err)
	before, err := mine.ConfigGet(ctx, "*").Result()
	check(t, err)

	w := visit(t, key, servers.Options{Clients: 2, Persist: true}, "redis://:s3cr%40t@"+addr)
	v, err := startTruth(w, func(k string) bool { return k == key }, func(keyspace.Change) {})
	check(t, err)
	one := client(t, w, "client-1", 1)
	check(t, one.SetNX(ctx, key, "a", 0).Err())
	check(t, one.Set(ctx, "aux:{"+key+"}:1", "b", time.Minute).Err())
	check(t, mine.Set(ctx, "more", "mine", 0).Err())
	check(t, v.Sync(ctx, "node-1"))
	keys, err := w.Keys(ctx)
	check(t, err)
	if len(keys) != 2 || keys[0].Name != "aux:{"+key+"}:1" || keys[1].Name != key {
		t.Errorf("the run's keys are %v", keys)
	}
	if n, err := w.Subscriptions(ctx); n != 0 || err != nil {
		t.Errorf("%d subscriptions of nobody's, %v", n, err)
	}
	sub := one.Subscribe(ctx, "c")
	defer sub.Close()
	_, err = sub.Receive(ctx)
	check(t, err)
	if n, err := w.Subscriptions(ctx); n != 1 || err != nil {
		t.Errorf("%d subscriptions, %v", n, err)
	}
	for what, err := range map[string]error{
		"stop": w.StopNode("node-1"), "shut down": w.ShutDown("node-1"), "start": w.StartNode("node-1", true), "suspend": w.Suspend("node-1"),
		"continue": w.Continue("node-1"), "set the clock": w.SetClock("node-1", time.Second, 1), "flush scripts": w.FlushScripts("node-1"),
		"promote": w.Promote("node-1"), "prefer": w.Prefer("node-1"), "hand over": w.HandOver("node-1"), "follow": w.Follow("node-1"),
	} {
		if err == nil || !strings.Contains(err.Error(), "user's own") {
			t.Errorf("%s: %v", what, err)
		}
	}
	v.Close()
	check(t, w.Close())
	left, err := mine.Keys(ctx, "*").Result()
	check(t, err)
	slices.Sort(left)
	if want := []string{"holdfast:1:lock1", "holdfast:2:lock[1]", "lock[1]", "more"}; !slices.Equal(left, want) {
		t.Errorf("the server holds %q, want %q", left, want)
	}
	after, err := mine.ConfigGet(ctx, "*").Result()
	check(t, err)
	for k, x := range before {
		if after[k] != x {
			t.Errorf("%s was %q and is %q", k, x, after[k])
		}
	}
}

func TestGuestsOfSentinels(t *testing.T) {
	t.Parallel()
	primary := livetest.SpawnRedis(t, "requirepass s3cret\nmasterauth s3cret\nrepl-diskless-sync-delay 0")
	at := strings.ReplaceAll(primary, ":", " ")
	livetest.SpawnRedis(t, "requirepass s3cret\nmasterauth s3cret\nreplicaof "+at)
	mine := livetest.Dial(t, primary, "s3cret")
	defer mine.Close()
	eventually(t, "the replica is online", func() bool { return strings.Contains(mine.Info(t.Context(), "replication").Val(), "state=online") })
	var sentinels []string
	for range 2 {
		addr := livetest.SpawnRedis(t, "sentinel monitor them "+at+" 2\nsentinel auth-pass them s3cret", "--sentinel")
		// By itself a Sentinel asks every ten seconds what replicas there are.
		check(t, livetest.Dial(t, addr, "").Do(t.Context(), "sentinel", "debug", "info-period", 100, "publish-period", 50).Err())
		sentinels = append(sentinels, addr)
	}
	address := "sentinel://:s3cret@" + strings.Join(sentinels, ",") + "/them"
	eventually(t, "the replica is known", func() bool {
		own, err := discover(t, address)
		check(t, err)
		return own.Replicas(1) == 1
	})
	if _, err := discover(t, strings.TrimSuffix(address, "them")+"others"); err == nil || !strings.Contains(err.Error(), "No such master") {
		t.Errorf("a primary that nobody knows: %v", err)
	}
	w := visit(t, "lock", servers.Options{Clients: 2}, address)
	if got := w.Names(); !slices.Equal(got, []string{"node-1", "node-1-replica-1", "sentinel-1", "sentinel-2"}) {
		t.Errorf("the servers are %v", got)
	}
	v := observe(t, w)
	one, two := client(t, w, "client-1", 1), client(t, w, "client-2", 1)
	ctx := t.Context()
	check(t, one.SetNX(ctx, "lock", "a", time.Minute).Err())
	heal, err := w.Cut("client-1", "node-1")
	check(t, err)
	check(t, two.Del(ctx, "lock").Err())
	a, err := w.Access("client-1")
	check(t, err)
	a.TimeScale = 0.02 // it gives up soon
	hasty := a.Client(1)
	defer hasty.Close()
	if err := hasty.Set(ctx, "lock", "b", 0).Err(); err == nil {
		t.Error("a client that is cut off reaches the primary")
	}
	heal()
	v.Sync(ctx, "node-1")
	if got := v.changes("node-1"); len(got) < 2 || said(got[1]) != "primary lock: a for a time -> nothing (DEL by client-2)" {
		t.Errorf("the changes are %v", got)
	}
}

func TestGuestsOfACluster(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var nodes []*redis.Client
	for range 3 {
		bus := livetest.FreePort(t)
		addr := livetest.SpawnRedis(t, fmt.Sprintf("cluster-enabled yes\ncluster-port %s\ncluster-node-timeout 2000\nrequirepass s3cret", bus))
		c := livetest.Dial(t, addr, "s3cret")
		t.Cleanup(func() { c.Close() })
		check(t, c.ClusterAddSlotsRange(ctx, len(nodes)*16384/3, (len(nodes)+1)*16384/3-1).Err())
		check(t, c.Do(ctx, "cluster", "set-config-epoch", len(nodes)+1).Err())
		if len(nodes) > 0 {
			host, port, _ := net.SplitHostPort(addr)
			check(t, nodes[0].Do(ctx, "cluster", "meet", host, port, bus).Err())
		}
		nodes = append(nodes, c)
	}
	for _, c := range nodes {
		eventually(t, "the cluster is ok", func() bool {
			return strings.Contains(c.ClusterInfo(ctx).Val(), "cluster_state:ok") && strings.Count(c.ClusterNodes(ctx).Val(), "connected") == 3
		})
	}
	address := "cluster://:s3cret@" + nodes[1].Options().Addr
	const key = "holdfast:1:stock"
	slot := int(nodes[0].ClusterKeySlot(ctx, key).Val())
	w := visit(t, key, servers.Options{Clients: 2}, address)
	if got, want := admin(t, w, "node-1").Options().Addr, nodes[slot*3/16384].Options().Addr; got != want {
		t.Errorf("node-1 is %s, and %s has the lock", got, want)
	}
	var told []string
	v, err := startTruth(w, func(k string) bool { return k == key }, func(c keyspace.Change) { told = append(told, said(c)) })
	check(t, err)
	one, two := client(t, w, "client-1", 1), client(t, w, "client-2", 1)
	for i := range 30 { // on every node
		check(t, two.Set(ctx, fmt.Sprintf("{%d}%s", i, key), "x", 0).Err())
	}
	check(t, one.Set(ctx, "foreign", "x", 0).Err())
	check(t, one.SetNX(ctx, key, "a", time.Minute).Err())
	if keys, err := w.Keys(ctx); err != nil || !slices.ContainsFunc(keys, func(k servers.Key) bool { return k == servers.Key{Node: "node-1", Name: key, TTL: k.TTL} }) {
		t.Errorf("the run's keys are %v, %v", keys, err)
	}
	check(t, w.DeleteKeys("node-1", key))
	check(t, v.SyncAll(ctx))
	v.Close()
	if want := []string{"primary " + key + ": nothing -> a for a time (SET by client-1)", "primary " + key + ": a for a time -> nothing (fault)"}; !slices.Equal(told, want) {
		t.Errorf("told: %q", told)
	}
	check(t, w.Close())
	var left []string
	for _, c := range nodes {
		left = append(left, c.Keys(ctx, "*").Val()...)
	}
	if !slices.Equal(left, []string{"foreign"}) {
		t.Errorf("the cluster holds %q", left)
	}
}
