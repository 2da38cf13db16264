package sweep

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// load reads a scenario that is made to be swept.
func load(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	src, err := Source(name)
	must.Succeed(t, err)
	s, err := scenarios.Parse(name+".yaml", src)
	must.Succeed(t, err)
	return s
}

// playAt plays some seeds at a point, in this process.
func playAt(t *testing.T, p *Plan, lock string, at Point, seeds int) Count {
	t.Helper()
	l, err := locks.Find(lock)
	must.Succeed(t, err)
	s, err := p.At(at)
	must.Succeed(t, err)
	var c Count
	for seed := range uint64(seeds) {
		played, err := play.Simulate(s, l, seed+1, "test")
		must.Succeed(t, err)
		judged, err := checker.Judge(played.History, checker.Options{})
		must.Succeed(t, err)
		c.Add(judged.Verdicts)
	}
	return c
}

// swept plays a whole plan.
func swept(t *testing.T, s *scenarios.Scenario, lock string, seeds int, over ...string) *Result {
	t.Helper()
	p, err := NewPlan(s, over)
	must.Succeed(t, err)
	r, err := newResult(Options{Plan: p, Lock: lock, Over: over, Seed: 1, Seeds: seeds, Shard: suite.Shard{Index: 1, Of: 1}})
	must.Succeed(t, err)
	var counts []Count
	for _, at := range p.Points() {
		counts = append(counts, playAt(t, p, lock, at, seeds))
	}
	r.take(counts)
	return r
}

const pausedAtOnce = `
scenario: paused-at-once
title: The holder freezes as soon as it has the lock
story: For a lease that nobody renews.
topology: {clients: 2}
workload: {holds: 1, lease: 3s, wait: 60s, think: 1s, explicit: true}
override:
  client-1: {think: 20s}
  client-2: {start: 500ms}
faults:
  - {fault: pause, target: client-1, on: {moment: granted, client: client-1}, for: 1s}
otherwise: It is swept.
`

// An owner that freezes on the grant outlives its lease from the length of the lease on.
// The next holder, who gets the lock then, comes a round trip later.
func TestOverlapsBeginAtTheLease(t *testing.T) {
	s, err := scenarios.Parse("paused.yaml", []byte(pausedAtOnce))
	must.Succeed(t, err)
	r := swept(t, s, "reentrant", 3, "pause=500ms..8s:6", "lease=2s,3s,5s")
	r.Boundaries, err = r.boundaries(0, func(at Point) (Count, error) { return playAt(t, r.plan, "reentrant", at, 3), nil })
	must.Succeed(t, err)
	if len(r.Boundaries) != 3 {
		t.Fatalf("boundaries: %+v", r.Boundaries)
	}
	for _, b := range r.Boundaries {
		lease, near := *b.Second, b.resolution()+Value(10*time.Millisecond)
		if b.Without > lease+near || b.With < lease || b.With > lease+near || b.With-b.Without > near {
			t.Errorf("%s", r.plan.boundaryWords(b))
		}
	}
	if want := "with a lease of 2 s, overlaps begin between a pause of "; !slices.ContainsFunc(r.Sentences(), func(s string) bool { return strings.HasPrefix(s, want) }) {
		t.Errorf("%q", r.Sentences())
	}
}

// A watchdog renews three times per lease. So the rest at any moment lies between two
// thirds of the lease and all of it, and so does the probability.
func TestAPauseAtRandomOverlapsInProportion(t *testing.T) {
	r := swept(t, load(t, "pause-at-random"), "reentrant", 30, "pause=6.5s,8.33s,10.1s")
	for i, want := range []float64{0, 0.5, 1} {
		if c := r.Points[i].Overlap; c.Low > want || c.High < want || r.Points[i].OverlapsUnknown > 0 {
			t.Errorf("%v: %+v of %+v, want %v", r.Points[i].At, c, r.Points[i].Count, want)
		}
	}
	if again := playAt(t, r.plan, "reentrant", Point{Value(8330 * time.Millisecond)}, 30); again != r.Points[1].Count {
		t.Error("the same seeds come out differently")
	}
}

// The lock is taken while it is free once in 1.203 s; a failover within the
// lag after that loses it. The lag is drawn from its value to a quarter more.
func TestAFailoverAtRandomLosesWhatIsUnderWay(t *testing.T) {
	r := swept(t, load(t, "failover-at-random"), "reentrant", 60, "lag=200ms")
	if c, want := r.Points[0].Overlap, 0.225/1.203; c.Low > want || c.High < want || r.Points[0].OverlapsUnknown > 0 {
		t.Errorf("%+v, want %v in it", r.Points[0].Count, want)
	}
	// An owner that waits for the replica never loses it.
	r = swept(t, load(t, "failover-at-random"), "reentrant-wait", 30, "lag=200ms")
	if c := r.Points[0].Count; c.Overlaps > 0 || c.Runs != 30 || c.OverlapsUnknown > 0 {
		t.Errorf("reentrant-wait: %+v", c)
	}
}

func TestParametersSet(t *testing.T) {
	for _, tt := range []struct {
		scenario, over string
		is             func(s *scenarios.Scenario) bool
	}{
		{"failover-at-random", "lag=7ms", func(s *scenarios.Scenario) bool { return time.Duration(s.Topology.Lag) == 7*time.Millisecond }},
		{"failover-at-random", "replicas=3", func(s *scenarios.Scenario) bool { return s.Topology.Replicas == 3 }},
		{"failover-at-random", "acks=1", func(s *scenarios.Scenario) bool { return s.Workload.Acks == 1 }},
		{"failover-at-random", "lease=9s", func(s *scenarios.Scenario) bool { return time.Duration(s.Workload.Lease) == 9*time.Second }},
		{"failover-at-random", "delay=8ms", func(s *scenarios.Scenario) bool {
			return time.Duration(s.Topology.Latency.Min) == 8*time.Millisecond && time.Duration(s.Topology.Latency.Max) == 10*time.Millisecond
		}},
		{"pause-at-random", "pause=9s", func(s *scenarios.Scenario) bool { return time.Duration(s.Faults[0].For) == 9*time.Second }},
		{"pause-at-random", "hold=2s", func(s *scenarios.Scenario) bool {
			return time.Duration(s.Workload.Think) == 2*time.Second && time.Duration(*s.Override["client-1"].Think) == 2*time.Second
		}},
	} {
		base := load(t, tt.scenario)
		p, err := NewPlan(base, []string{tt.over})
		if err != nil {
			t.Errorf("%s: %v", tt.over, err)
			continue
		}
		if s, err := p.At(p.Points()[0]); err != nil || !tt.is(s) {
			t.Errorf("%s is not set: %v", tt.over, err)
		}
		if !reflect.DeepEqual(base, load(t, tt.scenario)) {
			t.Errorf("%s changes the scenario itself", tt.over)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	for _, tt := range []struct {
		over []string
		want string
	}{
		{nil, "nothing is swept\nhint: such as --over"},
		{[]string{"pause=1s", "lease=5s", "hold=1s"}, "3 parameters: at most two"},
		{[]string{"pause=1s", "pause=5s"}, "pause is swept twice"},
		{[]string{"clock-jump=1s"}, "scenario pause-at-random cannot be swept over clock-jump: it has no fault clock-jump\nhint: "},
		{[]string{"lease=1ms..5s:3"}, "with a lease of 1 ms: pause-at-random.yaml:"},
		{[]string{"replicas=0..9"}, "topology.replicas is 4: must be 0 to 3"},
		{[]string{"pause=1s..2s:200", "lease=1s..2s:200"}, "40000 points"},
	} {
		if _, err := NewPlan(load(t, "pause-at-random"), tt.over); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.over, err, tt.want)
		}
	}
}

// Unknown is neither ok nor violated, whatever it is unknown for.
func TestUnknownIsCountedApart(t *testing.T) {
	var c Count
	good, bad, unknown := checker.Verdict{Outcome: checker.OutcomeOK}, checker.Verdict{Outcome: checker.Violated}, checker.Verdict{Outcome: checker.Unknown}
	for _, v := range []map[checker.Property]checker.Verdict{
		{checker.Exclusion: good, checker.ResourceSafe: good},
		{checker.Exclusion: bad, checker.ResourceSafe: good},
		{checker.Exclusion: bad, checker.ResourceSafe: bad},
		{checker.Exclusion: unknown, checker.ResourceSafe: unknown},
		{checker.Progress: bad}, // the worker is gone
		{checker.Exclusion: bad, checker.ResourceSafe: unknown},
	} {
		c.Add(v)
	}
	if want := (Count{Runs: 6, Overlaps: 3, Lost: 1, OverlapsUnknown: 2, LostUnknown: 3}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if o, l := c.overlap(), c.lostUpdate(); o != (proportion{3, 4}) || l != (proportion{1, 3}) {
		t.Errorf("%v and %v", o, l)
	}
}
