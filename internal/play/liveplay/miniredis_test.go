package liveplay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/queues"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Words that make the test binary a client process or a server.
const (
	clientRole = "client"
	serverRole = "miniredis"
)

func TestMain(m *testing.M) {
	logging.Disable() // broken connections are the point here
	if len(os.Args) > 1 && slices.Contains([]string{clientRole, serverRole, adapterRole}, os.Args[1]) {
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
	if args[0] == adapterRole {
		return locktest.Serve(ctx, os.Stdin, os.Stdout, queues.OfList, queues.OfSortedSet)
	}
	return adapter.ServeBuiltIn(ctx, os.Stdin, os.Stdout)
}

// onMiniredis is the backend that needs nothing installed.
func onMiniredis(t *testing.T) (b servers.Backend, exe string) {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	return servers.Backend{Miniredis: []string{exe, serverRole}}, exe
}

func find(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Find(name)
	must.Succeed(t, err)
	return s
}

// Where nothing is installed, what can be played has the verdicts that real
// servers have.
func TestOnMiniredisVerdictsAreAsExpected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of real time")
	}
	b, exe := onMiniredis(t)
	for _, scenario := range []string{"contention", "holder-pause", "lost-acquire-reply", "restart-without-data"} {
		for _, lock := range []string{"set-px-lua", "reentrant"} {
			t.Run(scenario+"/"+lock, func(t *testing.T) {
				s := find(t, scenario)
				judged := playPatiently(t, s, lock, Live{
					Backend: b, Dir: t.TempDir(), Processes: []AdapterProcess{{Lock: lock, Command: []string{exe, clientRole}}}, Scale: pace(s, locks.MustFind(lock)),
				})
				for _, wrong := range surprises(s, lock, judged) {
					t.Error(wrong)
				}
				if len(judged) < 5 {
					t.Errorf("%d properties were judged", len(judged))
				}
			})
		}
	}
}

// surprises are the verdicts that are not as expected.
func surprises(s *scenarios.Scenario, lock string, judged map[checker.Property]checker.Verdict) []string {
	var all []string
	for property, want := range s.Expected(locks.MustFind(lock)) {
		if v, ok := judged[property]; ok && !want.Met(property, v) {
			all = append(all, fmt.Sprintf("%s is %s %s (%s), expected %s %s", property, v.Outcome, v.Class, v.Reason, want.Outcome, want.Class))
		}
	}
	return all
}

// playPatiently plays and judges a run until the machine was quick enough for it. The
// machine kept the harness waiting neither for too long, nor for long enough to explain a
// surprising verdict.
func playPatiently(t *testing.T, s *scenarios.Scenario, lock string, o Live) map[checker.Property]checker.Verdict {
	t.Helper()
	const tries = 20
	for n := range tries {
		p, err := PlayLive(t.Context(), s, locks.MustFind(lock), 1, "test", o)
		var slow *SlowMachineError
		var setup *SetupError
		if errors.As(err, &slow) || errors.As(err, &setup) && n < 3 {
			t.Log(err)
			continue
		}
		must.Succeed(t, err)
		judged := judge(t, p.History)
		if all := surprises(s, lock, judged); p.Disturbed && len(all) > 0 {
			t.Logf("played again, as the machine was busy: %q", all)
			continue
		}
		return judged
	}
	t.Fatalf("the machine was too busy %d times", tries)
	return nil
}

func judge(t *testing.T, h *history.History) map[checker.Property]checker.Verdict {
	t.Helper()
	judged, err := checker.Judge(h, checker.Options{})
	must.Succeed(t, err)
	return judged.Verdicts
}

func TestWhatAMachineCannotCarryIsSaidBeforehand(t *testing.T) {
	mini, _ := onMiniredis(t)
	redis := servers.Backend{}
	t.Setenv("PATH", t.TempDir()) // no server and no compiler either
	for _, tt := range []struct {
		scenario, lock string
		on             servers.Backend
		reason         string // "" for none
	}{
		{"contention", "reentrant", mini, ""},
		{"restart-without-data", "redlock", mini, ""},
		{"script-flush", "fenced", mini, ""},
		{"contention", "reentrant-wait", mini, "miniredis has no replicas"},
		{"unconfirmed-acquire", "reentrant-wait", mini, "miniredis has no replicas"},
		{"failover-lost-write", "reentrant", mini, "miniredis has no Sentinels to promote a replica"},
		{"cluster-failover", "reentrant", mini, "miniredis is no cluster"},
		{"down-at-release", "set-px-lua", mini, "miniredis keeps no data over a restart"},
		{"clock-jump", "set-px-lua", mini, "miniredis takes its time from the machine"},
		{"contention", "reentrant-wait", redis, ""},
		{"cluster-failover", "reentrant", redis, ""},
		{"clock-drift", "reentrant", redis, "servers' clocks need a C compiler, and none of cc, gcc, clang is on the PATH"},
		{"redlock-clock-jump", "redlock", redis, "servers' clocks need a C compiler, and none of cc, gcc, clang is on the PATH"},
	} {
		ok, reason := Carries(find(t, tt.scenario), locks.MustFind(tt.lock), tt.on)
		if ok != (tt.reason == "") || reason != tt.reason {
			t.Errorf("%s with %s on %s: %v, %q, want %q", tt.scenario, tt.lock, tt.on.Name(), ok, reason, tt.reason)
		}
	}
}

// A catalogue of which nothing is left, or of which all is promised, would say
// that the decision is not made.
func TestMiniredisCarriesMostOfTheCatalogue(t *testing.T) {
	b, _ := onMiniredis(t)
	carried, refused := 0, 0
	for _, s := range scenarios.Catalogue() {
		for _, lock := range locks.Names() {
			if ok, _ := s.Applies(locks.MustFind(lock)); !ok {
				continue
			}
			if ok, reason := Carries(s, locks.MustFind(lock), b); ok {
				carried++
			} else if refused++; strings.TrimSpace(reason) == "" {
				t.Errorf("%s with %s is refused without a reason", s.Name, lock)
			}
		}
	}
	if carried < refused || refused == 0 {
		t.Errorf("%d runs are carried and %d are not", carried, refused)
	}
}
