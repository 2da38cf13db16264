package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/live"
	"github.com/holdfast-go/holdfast/scenarios"
)

// What a consensus store does not change: a holder that is stopped past its
// lease overlaps with the next. What helps is a token that the resource checks.
func TestPlayed(t *testing.T) {
	subjects := map[string]*scenarios.Subject{}
	for _, d := range locks() {
		l, err := scenarios.NewGuest(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		subjects[d.Name] = l
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
			if err != nil {
				t.Fatal(err)
			}
			r := judged(t, s, subjects[tt.lock])
			for p, v := range r.Verdicts {
				want := checker.OutcomeOK
				if slices.Contains(tt.violated, p) {
					want = checker.Violated
				}
				if v.Outcome != want {
					t.Errorf("%s is %s, want %s: %s", p, v.Outcome, want, v.Reason)
				}
			}
			if _, ok := r.Verdicts[checker.Lease]; ok {
				t.Error("leases are judged, and nobody has seen one")
			}
		})
	}
}

// judged plays a scenario at half its length, again where the machine was busy.
func judged(t *testing.T, s *scenarios.Scenario, l *scenarios.Subject) checker.Report {
	t.Helper()
	how := scenarios.Live{
		Backend: live.Backend{Foreign: &live.ForeignServers{Command: []string{self(t), serveRole}, Members: members}},
		Dir:     t.TempDir(), Workers: []scenarios.Worker{{Lock: l.Name(), Command: []string{self(t)}}}, Scale: 0.5,
	}
	for n := 0; ; n++ {
		p, err := scenarios.PlayLive(context.Background(), s, l, 1, "test", how)
		var slow *scenarios.SlowMachineError
		if errors.As(err, &slow) && n < 3 {
			t.Log(err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := checker.Judge(p.History, checker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// What has no meaning on servers that are no Redis is not played, in words.
func TestNotPlayed(t *testing.T) {
	l, err := scenarios.NewGuest(locks()[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	backend := live.Backend{Foreign: &live.ForeignServers{Command: []string{"etcd"}, Members: members}}
	for _, name := range []string{"clock-jump", "restart-without-data", "lost-acquire-reply", "crash-between-commands"} {
		s, err := scenarios.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if ok, why := s.Applies(l); !ok {
			t.Errorf("%s does not apply: %s", name, why)
		}
		if ok, why := s.Carried(l, backend); ok || why == "" {
			t.Errorf("%s is played", name)
		}
	}
}
