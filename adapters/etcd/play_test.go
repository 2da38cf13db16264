package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A consensus store does not change this: a holder that is stopped past its lease
// overlaps with the next. A token that the resource checks helps.
func TestPlayed(t *testing.T) {
	underTest := map[string]*locks.Lock{}
	for _, d := range describe() {
		l, err := locks.NewThirdParty(d, nil)
		must.Succeed(t, err)
		underTest[d.Name] = l
	}
	for _, tt := range []struct {
		scenario, lock string
		violated       []checker.Property
	}{
		{"contention", plain, nil},
		{"holder-pause", plain, []checker.Property{checker.Exclusion, checker.ResourceSafe}},
		{"holder-pause", fenced, []checker.Property{checker.Exclusion}},
	} {
		t.Run(tt.scenario+"/"+tt.lock, func(t *testing.T) {
			t.Parallel()
			s, err := scenarios.Find(tt.scenario)
			must.Succeed(t, err)
			r := judged(t, s, underTest[tt.lock], tt.violated)
			for _, wrong := range surprises(s, underTest[tt.lock], tt.violated, r) {
				t.Error(wrong)
			}
			if _, ok := r.Verdicts[checker.Lease]; ok {
				t.Error("leases are judged, and nobody has seen one")
			}
		})
	}
}

// surprises are the verdicts that the lock's description does not explain, and
// the violations that have to be seen and are not.
func surprises(s *scenarios.Scenario, l *locks.Lock, violated []checker.Property, r checker.Report) []string {
	var all []string
	expected := s.Expected(l)
	for p, v := range r.Verdicts {
		missed := slices.Contains(violated, p) && v.Outcome != checker.Violated
		if missed || !expected[p].Met(p, v) {
			all = append(all, fmt.Sprintf("%s is %s, want %s: %s", p, v.Outcome, expected[p].Outcome, v.Reason))
		}
	}
	return all
}

// tries is the number of times that a run is played until the machine was quick enough.
const tries = 20

// judged plays a scenario at half its length. It does so again where the machine kept the
// harness waiting for too long, or for long enough to explain a surprising verdict.
func judged(t *testing.T, s *scenarios.Scenario, l *locks.Lock, violated []checker.Property) checker.Report {
	t.Helper()
	how := liveplay.Live{
		Backend: servers.Backend{Bundled: &servers.BundledServers{Command: []string{self(t), serveRole}, Members: members}},
		Dir:     t.TempDir(), Processes: []liveplay.AdapterProcess{{Lock: l.Name(), Command: []string{self(t)}}}, Scale: 0.5,
	}
	for n := 0; ; n++ {
		p, err := liveplay.PlayLive(context.Background(), s, l, 1, "test", how)
		var slow *liveplay.SlowMachineError
		var setup *liveplay.SetupError
		if errors.As(err, &slow) && n < tries || errors.As(err, &setup) && n < 3 {
			t.Log(err)
			continue
		}
		must.Succeed(t, err)
		r, err := checker.Judge(p.History, checker.Options{})
		must.Succeed(t, err)
		if all := surprises(s, l, violated, r); p.Disturbed && len(all) > 0 && n < tries {
			t.Logf("played again, as the machine was busy: %q", all)
			continue
		}
		return r
	}
}

// A scenario without a meaning on servers that are no Redis is not played, in words.
func TestNotPlayed(t *testing.T) {
	l, err := locks.NewThirdParty(describe()[0], nil)
	must.Succeed(t, err)
	backend := servers.Backend{Bundled: &servers.BundledServers{Command: []string{"etcd"}, Members: members}}
	for _, name := range []string{"clock-jump", "restart-without-data", "lost-acquire-reply", "crash-between-commands"} {
		s, err := scenarios.Find(name)
		must.Succeed(t, err)
		if ok, why := s.Applies(l); !ok {
			t.Errorf("%s does not apply: %s", name, why)
		}
		if ok, why := liveplay.Carries(s, l, backend); ok || why == "" {
			t.Errorf("%s is played", name)
		}
	}
}
