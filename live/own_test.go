package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/redis/keyspace"
)

// spawnOwn starts a server as a user would have it, which ends with the test.
func spawnOwn(t *testing.T, conf string, args ...string) (addr string) {
	t.Helper()
	requireRedis(t)
	argv, err := Backend{}.command()
	check(t, err)
	port, err := freePort()
	check(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, confName)
	check(t, os.WriteFile(file, fmt.Appendf(nil, "bind 127.0.0.1\nport %d\nsave \"\"\n%s\n", port, conf), 0o600))
	var log bytes.Buffer
	cmd := exec.Command(argv[0], append([]string{file}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	check(t, spawn(cmd))
	t.Cleanup(func() {
		check(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	})
	addr = loopback(port)
	c := straightTo(addr, login{})
	defer c.Close()
	eventually(t, "a server answers", func() bool {
		err := c.Ping(t.Context()).Err()
		return err == nil || redis.HasErrorPrefix(err, "NOAUTH")
	})
	return addr
}

func discover(t *testing.T, addresses ...string) (*Own, error) {
	t.Helper()
	var list []Address
	for _, text := range addresses {
		a, err := ParseAddress(text)
		check(t, err)
		list = append(list, a)
	}
	return Discover(t.Context(), list, false)
}

// visit makes a world of servers that run already, for a lock of that name.
func visit(t *testing.T, key string, o Options, addresses ...string) *World {
	t.Helper()
	own, err := discover(t, addresses...)
	check(t, err)
	o.Backend.Own, err = own.Part(t.Context(), key, own.Groups())
	check(t, err)
	var w *World
	open(t, &o, func() (*Servers, error) {
		w, err = NewWorld(t.Context(), WorldOptions{Options: o, LockKeys: []string{key}})
		if err != nil {
			return nil, err
		}
		return w.Servers, nil
	})
	return w
}

func TestAddressesOfServers(t *testing.T) {
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379":                            "redis://127.0.0.1:6379",
		"redis://127.0.0.1:6379/0":                          "redis://127.0.0.1:6379",
		"redis://[::1]:6379":                                "redis://[::1]:6379",
		"redis://me:s3cret@localhost:6379":                  "redis://***@localhost:6379",
		"sentinel://:s3cret@127.0.0.1:1,127.0.0.1:2/master": "sentinel://***@127.0.0.1:1,127.0.0.1:2/master",
		"cluster://:a@s3cret@127.0.0.1:7001,127.0.0.1:7002": "cluster://***@127.0.0.1:7001,127.0.0.1:7002",
	} {
		if a, err := ParseAddress(text); err != nil || a.String() != want {
			t.Errorf("%s is shown as %s, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"127.0.0.1:6379":                       "begins with redis://",
		"http://127.0.0.1:6379":                "begins with redis://",
		"rediss://me:s3cret@127.0.0.1:6379":    "TLS is not supported",
		"redis://127.0.0.1":                    "not HOST:PORT",
		"redis://s3cret@127.0.0.1:6379":        "USER:PASSWORD",
		"redis://me:s3cret%zz@127.0.0.1:6379":  "hexadecimal",
		"redis://:s3cret@127.0.0.1:6379/3":     "only database 0",
		"redis://127.0.0.1:6379,127.0.0.1:638": "one server",
		"sentinel://:s3cret@127.0.0.1:26379":   "ends with what the Sentinels call",
		"cluster://127.0.0.1:7001/0":           "addresses only",
	} {
		switch _, err := ParseAddress(text); {
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", text, err, want)
		case strings.Contains(err.Error(), "s3cret"):
			t.Errorf("the password is shown: %v", err)
		}
	}
}

func TestServersThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	addr := spawnOwn(t, "requirepass s3cret")
	first, plain := spawnOwn(t, ""), spawnOwn(t, "rename-command MONITOR \"\"")
	replica := spawnOwn(t, "replicaof "+strings.ReplaceAll(first, ":", " "))
	cluster := spawnOwn(t, "cluster-enabled yes")
	for _, tt := range []struct {
		addresses []string
		want      string
	}{
		{[]string{"redis://" + addr}, "NOAUTH"},
		{[]string{"redis://:wr0ng@" + addr}, "WRONGPASS"},
		{[]string{"redis://" + plain}, "MONITOR"},
		{[]string{"redis://" + replica}, "replica of"},
		{[]string{"redis://" + cluster}, "cluster://"},
		{[]string{"cluster://" + cluster}, "nobody serves any slot"},
		{[]string{"cluster://" + first}, "cluster support disabled"},
		{[]string{"sentinel://" + first + "/m"}, "unknown command"},
		{[]string{"redis://" + first, "redis://" + first}, "the same server"},
		{[]string{"redis://" + first, "cluster://" + cluster}, "have to be redis://"},
		{[]string{"redis://" + loopback(1)}, "refused"},
	} {
		switch _, err := discover(t, tt.addresses...); {
		case err == nil || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%v: %v, want %q", tt.addresses, err, tt.want)
		case strings.Contains(err.Error(), "wr0ng"):
			t.Errorf("the password is shown: %v", err)
		}
	}
	for _, far := range []string{"redis://192.0.2.1:6379", "sentinel://redis.example:26379/m", "cluster://10.0.0.1:7001"} {
		if _, err := discover(t, far); !errors.Is(err, ErrRemote) {
			t.Errorf("%s: %v", far, err)
		}
	}
}

func TestAGuestLeavesNothingAndHarmsNothing(t *testing.T) {
	t.Parallel()
	const key = "holdfast:1:lock[1]"
	addr := spawnOwn(t, "requirepass s3cr@t")
	mine := straightTo(addr, login{password: "s3cr@t"})
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

	w := visit(t, key, Options{Clients: 2, Persist: true}, "redis://:s3cr%40t@"+addr)
	v, err := w.Observe(func(k string) bool { return k == key }, func(keyspace.Change) {})
	check(t, err)
	one := client(t, w.Servers, "client-1", 1)
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
		if !errors.Is(err, errNotOurs) {
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
	primary := spawnOwn(t, "requirepass s3cret\nmasterauth s3cret")
	at := strings.ReplaceAll(primary, ":", " ")
	spawnOwn(t, "requirepass s3cret\nmasterauth s3cret\nreplicaof "+at)
	mine := straightTo(primary, login{password: "s3cret"})
	defer mine.Close()
	eventually(t, "the replica is online", func() bool { return strings.Contains(mine.Info(t.Context(), "replication").Val(), "state=online") })
	var sentinels []string
	for range 2 {
		sentinels = append(sentinels, spawnOwn(t, "sentinel monitor them "+at+" 2\nsentinel auth-pass them s3cret", "--sentinel"))
	}
	address := "sentinel://:s3cret@" + strings.Join(sentinels, ",") + "/them"
	eventually(t, "the replica is known", func() bool {
		own, err := discover(t, address)
		check(t, err)
		return own.Replicas(1) == 1 && len(own.groups[0]) == 2
	})
	if _, err := discover(t, strings.TrimSuffix(address, "them")+"others"); err == nil || !strings.Contains(err.Error(), "No such master") {
		t.Errorf("a primary that nobody knows: %v", err)
	}
	w := visit(t, "lock", Options{Clients: 2}, address)
	if got := w.Names(); !slices.Equal(got, []string{"node-1", "node-1-replica-1", "sentinel-1", "sentinel-2"}) {
		t.Errorf("the servers are %v", got)
	}
	v := observe(t, w.Servers)
	one, two := client(t, w.Servers, "client-1", 1), client(t, w.Servers, "client-2", 1)
	ctx := t.Context()
	check(t, one.SetNX(ctx, "lock", "a", time.Minute).Err())
	heal, err := w.Cut("client-1", "node-1")
	check(t, err)
	check(t, two.Del(ctx, "lock").Err())
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := one.Set(short, "lock", "b", 0).Err(); err == nil {
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
		bus, err := freePort()
		check(t, err)
		addr := spawnOwn(t, fmt.Sprintf("cluster-enabled yes\ncluster-port %d\ncluster-node-timeout 2000\nrequirepass s3cret", bus))
		c := straightTo(addr, login{password: "s3cret"})
		t.Cleanup(func() { c.Close() })
		check(t, c.ClusterAddSlotsRange(ctx, len(nodes)*slots/3, (len(nodes)+1)*slots/3-1).Err())
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
	w := visit(t, key, Options{Clients: 2}, address)
	if got, want := w.byName["node-1"].addr(), nodes[slot*3/slots].Options().Addr; got != want {
		t.Errorf("node-1 is %s, and %s has the lock", got, want)
	}
	var told []string
	v, err := w.Observe(func(k string) bool { return k == key }, func(c keyspace.Change) { told = append(told, said(c)) })
	check(t, err)
	one, two := client(t, w.Servers, "client-1", 1), client(t, w.Servers, "client-2", 1)
	for i := range 30 { // on every node
		check(t, two.Set(ctx, fmt.Sprintf("{%d}%s", i, key), "x", 0).Err())
	}
	check(t, one.Set(ctx, "foreign", "x", 0).Err())
	check(t, one.SetNX(ctx, key, "a", time.Minute).Err())
	if keys, err := w.Keys(ctx); err != nil || !slices.ContainsFunc(keys, func(k Key) bool { return k == Key{"node-1", key, k.TTL} }) {
		t.Errorf("the run's keys are %v, %v", keys, err)
	}
	check(t, w.DeleteLock("node-1"))
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
