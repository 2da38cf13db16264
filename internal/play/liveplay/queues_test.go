package liveplay

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// adapterRole makes the test binary an adapter with the locks of package queues.
const adapterRole = "queues"

// Clients that wait in Redis, and a lock in a sorted set, are played on real servers as
// well. They go through pauses, crashes, withheld replies, restarts and a failover.
func TestQueuesOnRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of real time")
	}
	exe, err := os.Executable()
	must.Succeed(t, err)
	backends := []servers.Backend{{Miniredis: []string{exe, serverRole}}}
	if _, err := exec.LookPath("redis-server"); err == nil {
		backends = append(backends, servers.Backend{})
	} else if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
		t.Fatal("redis-server is not on the PATH")
	}
	for _, b := range backends {
		t.Run(b.Name(), func(t *testing.T) {
			w := &World{Backend: b, Workers: 2, Adapters: []string{"'" + exe + "' " + adapterRole}, AdapterStart: time.Minute}
			res, err := suite.Run(t.Context(), suite.Options{
				World: w, Dir: filepath.Join(t.TempDir(), "run"), Users: history.Careless,
				Scenarios: []string{"contention", "holder-crash", "holder-pause", "lost-release-reply", "restart-without-data", "waiter-crash", "failover-lost-write"},
			})
			if err != nil || res.Interrupted || len(res.Runs) < 10 {
				t.Fatalf("%d runs, interrupted %t: %v", len(res.Runs), res.Interrupted, err)
			}
			for _, r := range res.Runs {
				if !r.AsExpected {
					t.Errorf("%s with %s: %s %+v", r.Scenario, r.Lock, r.Failure, r.Verdicts)
				}
			}
		})
	}
}
