package realtime

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/queues"
	"github.com/holdfast-go/holdfast/scenarios"
)

// The roles of the test binary, as its first argument.
const (
	adapterRole = "queues"
	serverRole  = "miniredis"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == adapterRole || os.Args[1] == serverRole) {
		if err := playRole(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func playRole(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if args[0] == serverRole {
		return miniredis.Serve(ctx, args[1], os.Stdout)
	}
	return locktest.Serve(ctx, os.Stdin, os.Stdout, queues.OfList, queues.OfSortedSet)
}

// Clients that wait in Redis, and a lock in a sorted set, are played on real servers as
// well. They go through pauses, crashes, withheld replies, restarts and a failover.
func TestQueuesOnRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of real time")
	}
	exe, err := os.Executable()
	must.Succeed(t, err)
	locks, err := Choose(t.Context(), nil, []string{"'" + exe + "' " + adapterRole}, time.Minute)
	must.Succeed(t, err)
	backends := []servers.Backend{{Miniredis: []string{exe, serverRole}}}
	if _, err := exec.LookPath("redis-server"); err == nil {
		backends = append(backends, servers.Backend{})
	} else if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
		t.Fatal("redis-server is not on the PATH")
	}
	for _, b := range backends {
		t.Run(b.Name(), func(t *testing.T) {
			var jobs []suite.Job
			kept := t.TempDir()
			for _, name := range []string{"contention", "holder-crash", "holder-pause", "lost-release-reply", "restart-without-data", "waiter-crash", "failover-lost-write"} {
				source, err := scenarios.Source(name)
				must.Succeed(t, err)
				scenario, err := scenarios.Find(name)
				must.Succeed(t, err)
				for _, l := range locks {
					if ok, _ := liveplay.Carries(scenario, l.Subject, b); !ok {
						continue
					}
					jobs = append(jobs, suite.Job{
						ID: len(jobs), Scenario: name, File: name, Source: string(source), Lock: l.Subject.Name(), Seed: 1,
						History: filepath.Join(kept, fmt.Sprint(len(jobs))),
					})
				}
			}
			p := Player{Locks: locks, Backend: b, Workers: 2, Now: func(string) {}, Step: func() {}}
			o := p.Play(t.Context(), jobs, suite.Dir(t.TempDir()))
			if o.Err != nil || len(o.Runs) != len(jobs) {
				t.Fatalf("%d of %d runs: %v", len(o.Runs), len(jobs), o.Err)
			}
			for _, r := range o.Runs {
				if !r.AsExpected {
					t.Errorf("%s with %s: %s %+v", r.Scenario, r.Lock, r.Failure, r.Verdicts)
				}
			}
		})
	}
}
