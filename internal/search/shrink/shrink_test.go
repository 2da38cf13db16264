package shrink_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func TestMain(m *testing.M) {
	logging.Disable()     // broken connections are the point here
	runtime.GOMAXPROCS(1) // as in a worker process: it is several times faster
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

func load(t *testing.T, path string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Load(path)
	must.Succeed(t, err)
	return s
}

// playWith plays candidates here, one after the other. Every candidate has to
// be a scenario.
func playWith(t *testing.T, lock string) shrink.Player {
	l, err := locks.Find(lock)
	must.Succeed(t, err)
	return func(_ context.Context, all []shrink.Candidate) ([]shrink.Outcome, error) {
		outcomes := make([]shrink.Outcome, len(all))
		for i, c := range all {
			s, err := scenarios.Parse("candidate.yaml", c.Source)
			if err != nil {
				t.Errorf("a candidate is no scenario: %v\n%s", err, c.Source)
				continue
			}
			if ok, _ := s.Applies(l); ok {
				outcomes[i] = playCandidate(t, s, l, c.Seed)
			}
		}
		return outcomes, nil
	}
}

func playCandidate(t *testing.T, s *scenarios.Scenario, l *locks.Lock, seed uint64) (o shrink.Outcome) {
	t.Helper()
	p, err := play.Simulate(s, l, seed, "test")
	if err != nil {
		t.Errorf("a candidate cannot be played: %v", err)
		return o
	}
	judged, err := checker.Judge(p.History, checker.Options{})
	if err != nil {
		t.Error(err)
	}
	for _, e := range p.History.Events {
		if e.Kind == history.Invoke {
			o.Ops++
		}
	}
	o.Verdicts = judged.Verdicts
	return o
}

var bloated = []struct {
	file, lock string
	seed       uint64
	target     shrink.Target
	kinds      []string // the faults that it takes
}{
	{"bloated-failover", "reentrant", 7, shrink.Target{Property: checker.Exclusion, Class: checker.ContractBroken}, []string{"cut-replication", "failover"}},
	{"bloated-pause", "set-px-lua", 3, shrink.Target{Property: checker.Exclusion, Class: checker.LeaseOutlived}, []string{"pause"}},
	{"bloated-clock", "redlock", 11, shrink.Target{Property: checker.Exclusion, Class: checker.ContractBroken}, []string{"partition", "clock-jump"}},
}

func TestShrinkLeavesWhatTheViolationTakes(t *testing.T) {
	for _, tt := range bloated {
		t.Run(tt.file, func(t *testing.T) {
			s := load(t, "testdata/"+tt.file+".yaml")
			r, err := shrink.Shrink(t.Context(), s, tt.seed, tt.target, playWith(t, tt.lock), shrink.Options{})
			must.Succeed(t, err)
			found := shrink.Finding{Lock: tt.lock, Seed: r.Seed, Target: tt.target, Reason: r.Verdicts[tt.target.Property].Reason, From: s.Name}
			told := shrink.Tell(r.Scenario, found, []shrink.Played{{Lock: tt.lock, Verdicts: r.Verdicts}})
			src, err := told.YAML()
			must.Succeed(t, err)
			t.Logf("%+v\n%s", r.Stats, src)
			after := r.Stats.After
			if after.Clients > 2 || after.Faults > 2 || after.Ops > 12 {
				t.Errorf("%d clients, %d faults, %d operations are left", after.Clients, after.Faults, after.Ops)
			}
			for _, f := range r.Scenario.Faults {
				if !slices.Contains(tt.kinds, f.Fault) {
					t.Errorf("%s is left", f.Fault)
				}
			}
			again, err := scenarios.Parse("found.yaml", src)
			must.Succeed(t, err)
			l, err := locks.Find(tt.lock)
			must.Succeed(t, err)
			o := playCandidate(t, again, l, r.Seed)
			if !tt.target.Met(o.Verdicts) {
				t.Errorf("played again, %s is %+v", tt.target, o.Verdicts[tt.target.Property])
			}
			for p, want := range again.Expected(l) {
				if v, ok := o.Verdicts[p]; ok && !want.Met(p, v) {
					t.Errorf("played again, %s is %s, expected %s", p, v.Outcome, want.Outcome)
				}
			}
		})
	}
}

func TestShrinkNeedsAViolation(t *testing.T) {
	s := load(t, "testdata/bloated-pause.yaml")
	_, err := shrink.Shrink(t.Context(), s, 1, shrink.Target{Property: checker.Count}, playWith(t, "set-px-lua"), shrink.Options{})
	if !errors.Is(err, shrink.ErrNotViolated) {
		t.Errorf("%v", err)
	}
}

// shows plays nothing: the violation shows when the function says so.
func shows(f func(c shrink.Candidate) bool) shrink.Player {
	return func(_ context.Context, all []shrink.Candidate) ([]shrink.Outcome, error) {
		outcomes := make([]shrink.Outcome, len(all))
		for i, c := range all {
			v := checker.Verdict{Outcome: checker.OutcomeOK}
			if f(c) {
				v.Outcome = checker.Violated
			}
			outcomes[i].Verdicts = map[checker.Property]checker.Verdict{checker.Exclusion: v}
		}
		return outcomes, nil
	}
}

func TestShrinkTellsAFlakyViolation(t *testing.T) {
	s := load(t, "testdata/bloated-pause.yaml")
	target := shrink.Target{Property: checker.Exclusion}
	n := 0
	_, err := shrink.Shrink(t.Context(), s, 1, target, shows(func(shrink.Candidate) bool { n++; return n%2 == 1 }), shrink.Options{})
	var flaky *shrink.FlakyError
	if !errors.As(err, &flaky) || flaky.Shown != 2 || flaky.Of != 3 {
		t.Errorf("%v", err)
	}
	n = 0
	_, err = shrink.Shrink(t.Context(), s, 1, target, shows(func(shrink.Candidate) bool { n++; return n <= 11 }), shrink.Options{})
	if !errors.As(err, &flaky) || flaky.Shown != 0 {
		t.Errorf("a violation that is gone in the end: %v", err)
	}
}

func TestShrinkStopsAtItsLimit(t *testing.T) {
	s := load(t, "testdata/bloated-failover.yaml")
	always := shows(func(shrink.Candidate) bool { return true })
	target := shrink.Target{Property: checker.Exclusion}
	r, err := shrink.Shrink(t.Context(), s, 1, target, always, shrink.Options{Runs: 20})
	if err != nil || !r.Stats.Limited || r.Stats.Runs > 20+3 {
		t.Errorf("%+v, %v", r.Stats, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err = shrink.Shrink(ctx, s, 1, target, always, shrink.Options{Moved: func(int, search.Size) error { cancel(); return nil }})
	if err != nil || !r.Stats.Limited || r.Stats.Kept != 1 {
		t.Errorf("interrupted: %+v, %v", r.Stats, err)
	}
}

// The clients that a mistake takes may be one client, again and again.
func TestShrinkLetsClientsShareTheWork(t *testing.T) {
	r, err := shrink.Shrink(t.Context(), builtIn(t, "check-then-delete"), 1, bloated[0].target, playWith(t, "set-px-check"), shrink.Options{})
	if err != nil || r.Stats.After.Clients != 2 || r.Stats.After.Ops > 12 || !r.Stats.Steady {
		t.Errorf("%+v, %v", r.Stats, err)
	}
}

func builtIn(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	for _, s := range scenarios.Catalogue() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no scenario %s", name)
	return nil
}

// Whatever is kept, all candidates are scenarios, and the search ends.
func TestEveryCandidateIsAScenario(t *testing.T) {
	var all []*scenarios.Scenario
	for _, tt := range bloated {
		all = append(all, load(t, "testdata/"+tt.file+".yaml"))
	}
	all = append(all, scenarios.Catalogue()...)
	for i, s := range all {
		n := 0
		_, err := shrink.Shrink(t.Context(), s, 5, shrink.Target{Property: checker.Exclusion}, shows(func(c shrink.Candidate) bool {
			if _, err := scenarios.Parse("candidate.yaml", c.Source); err != nil {
				t.Errorf("a candidate of %s is no scenario: %v\n%s", s.Name, err, c.Source)
			}
			n++
			return n <= 3 || hash(c.Source)%3 == uint32(i)%3
		}), shrink.Options{Runs: 20000})
		var flaky *shrink.FlakyError // the first was shown whatever its hash
		if err != nil && !errors.As(err, &flaky) {
			t.Errorf("%s: %v", s.Name, err)
		}
		if n > 10000 {
			t.Errorf("%s took %d candidates", s.Name, n)
		}
	}
}

func hash(b []byte) (h uint32) {
	for _, c := range b {
		h = h*31 + uint32(c)
	}
	return h >> 3
}
