package liveplay

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// ownServer starts a server as a user would have it, and finds it.
func ownServer(t *testing.T) (*servers.External, *redis.Client) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("not tried: %v", err)
	}
	port, err := processes.FreePort()
	must.Succeed(t, err)
	addr := fmt.Sprint("127.0.0.1:", port)
	cmd := exec.Command(binary, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	must.Succeed(t, cmd.Start())
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 200, MaxRetryBackoff: 20 * time.Millisecond})
	t.Cleanup(func() {
		c.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	must.Succeed(t, c.Ping(t.Context()).Err())
	a, err := servers.ParseAddress("redis://" + addr)
	must.Succeed(t, err)
	own, err := servers.Discover(t.Context(), []servers.Address{a}, servers.Guest{})
	must.Succeed(t, err)
	return own, c
}

// TestOneServerCarriesWhatNeedsNoControlOfIt tells what is not played, and why.
func TestOneServerCarriesWhatNeedsNoControlOfIt(t *testing.T) {
	own, _ := ownServer(t)
	for _, tt := range []struct{ scenario, lock, want string }{
		{"contention", "reentrant", ""},
		{"holder-pause", "set-px", ""},
		{"partitioned-holder", "reentrant", ""},
		{"key-deleted", "reentrant", ""},
		{"lost-unlock-message", "reentrant", ""},
		{"slow-subscribe", "reentrant", ""},
		{"lost-acquire-reply", "set-px-lua", ""},
		{"failover-lost-write", "reentrant", "cut-replication needs control of the servers, and those given with --redis are your own"},
		{"isolated-primary", "reentrant", "failover needs control of the servers, and those given with --redis are your own"},
		{"clock-jump", "reentrant", "clock-jump needs control of the servers, and those given with --redis are your own"},
		{"restart-without-data", "reentrant", "node-restart needs control of the servers, and those given with --redis are your own"},
		{"script-flush", "reentrant", "script-flush needs control of the servers, and those given with --redis are your own"},
		{"cluster-failover", "reentrant", "it is about a Redis Cluster, and the servers given with --redis are none"},
		{"contention", "multi", "it needs 3 independent primaries, and --redis gives 1: give it once for each, as redis://"},
		{"contention", "reentrant-wait", "it waits for a replica, and the server given with --redis has none that is online"},
	} {
		s, err := scenarios.Parse(tt.scenario+".yaml", source(t, tt.scenario))
		must.Succeed(t, err)
		if ok, reason := Carries(s, locks.MustFind(tt.lock), servers.Backend{External: own}); ok != (tt.want == "") || reason != tt.want {
			t.Errorf("%s with %s: %q, want %q", tt.scenario, tt.lock, reason, tt.want)
		}
	}
}

func source(t *testing.T, name string) []byte {
	t.Helper()
	b, err := scenarios.Source(name)
	must.Succeed(t, err)
	return b
}

func TestARunThatFailsLeavesNoKeyOnTheServer(t *testing.T) {
	own, c := ownServer(t)
	ctx := t.Context()
	must.Succeed(t, c.Set(ctx, "stock", "mine", 0).Err())
	s, err := scenarios.Parse("contention.yaml", source(t, "contention"))
	must.Succeed(t, err)
	_, err = PlayLive(ctx, s, locks.MustFind("reentrant"), 1, "test", Live{Dir: t.TempDir(), Processes: []AdapterProcess{{Lock: "reentrant", Command: []string{"/bin/false"}}}, Scale: 0.2, Backend: servers.Backend{External: own}})
	if err == nil {
		t.Error("a run without clients has a history")
	}
	onlyMine(t, ctx, c)
}

func onlyMine(t *testing.T, ctx context.Context, c *redis.Client) {
	t.Helper()
	keys, err := c.Keys(ctx, "*").Result()
	must.Succeed(t, err)
	if !slices.Equal(keys, []string{"stock"}) || c.Get(ctx, "stock").Val() != "mine" {
		t.Errorf("the server holds %q", keys)
	}
	if n := strings.Count(c.ClientList(ctx).Val(), "\n"); n > 1 {
		t.Errorf("%d connections are left:\n%s", n, c.ClientList(ctx).Val())
	}
}
