package shrink

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios"
)

// weight measures the length of a scenario for its reader. Every change that is kept
// makes it less, so that a search ends.
type weight struct {
	parts   int   // what it is made of
	numbers int64 // how long and how crooked its times are
}

func (w weight) less(than weight) bool {
	return cmp.Or(cmp.Compare(w.parts, than.parts), cmp.Compare(w.numbers, than.numbers)) < 0
}

func measure(s *scenarios.Scenario) weight {
	w := weight{parts: 1000*s.Topology.Clients + 60*s.Topology.Replicas + 60*s.Topology.Groups + each(60, s.Topology.Cluster) +
		each(10, s.Topology.Latency != scenarios.Latency{}, s.Topology.Lag != 0) + 200*allHolds(s) + workloadParts(s.Workload)}
	for _, o := range s.Override {
		for _, f := range overridable {
			if f.clear(&o) {
				w.parts += 20
			}
		}
	}
	for _, f := range s.Faults {
		w.parts += faultParts(f)
	}
	for _, at := range times(s) {
		if d := at(s); d != nil {
			w.numbers += crooked(time.Duration(*d))
		}
	}
	return w
}

func allHolds(s *scenarios.Scenario) int {
	all := 0
	for n := range s.Topology.Clients {
		all += holdsOf(s, n+1)
	}
	return all
}

func holdsOf(s *scenarios.Scenario, n int) int {
	if o := s.Override[party.Client(n)]; o.Holds != nil {
		return *o.Holds
	}
	return s.Workload.Holds
}

func workloadParts(w scenarios.Workload) int {
	return 100*len(w.Nested) + each(10, w.Unnest, w.Explicit, w.Carry, w.Lock != "", len(w.Locks) > 0, w.Together, w.Start != 0, w.Stagger != 0,
		w.Poll != 0, w.Handoff != 0, w.Close != 0, w.Extend != 0, w.Permits > 1, w.Turn != "", w.Shutdown, w.RetryRelease, w.SameOwner)
}

func faultParts(f faults.Spec) int {
	n := 1000 + 15*(len(f.Target)+len(f.Peer)) + each(12, f.Jitter != 0, f.Rate != 0, f.Data != "", f.Direction != "", f.To != "", f.Mode != "")
	n += each(5, f.For != 0)
	if f.After != 0 {
		n += 10 + unit(time.Duration(f.After))
	}
	if f.Rate != 0 {
		n += len(fmt.Sprint(f.Rate))
	}
	if f.At != nil {
		n += 2
		if *f.At != 0 {
			n += 10 + unit(time.Duration(*f.At))
		}
	}
	if a := f.On; a != nil {
		n += 4 + each(2, true, a.Client != "", a.Node != "", a.Op != "", a.Command != "", a.Changed)
		if a.Nth > 0 { // said, though 1 is the default
			n += 1 + a.Nth
		}
	}
	return n
}

// each is n for each that is given.
func each(n int, given ...bool) int {
	sum := 0
	for _, is := range given {
		if is {
			sum += n
		}
	}
	return sum
}

// units are the units of round times, the roundest first.
var units = []time.Duration{
	time.Second, 500 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, time.Microsecond,
}

// unit grades a time by its roundness: 0 for none at all, 1 for whole seconds.
func unit(d time.Duration) int {
	if d == 0 {
		return 0
	}
	for i, u := range units {
		if d%u == 0 {
			return i + 1
		}
	}
	return len(units) + 1
}

// crooked orders times: rounder ones first, and of those the shorter.
func crooked(d time.Duration) int64 {
	const most = 10_000_000_000 // microseconds, longer than any scenario
	return int64(unit(d))*most + min(most-1, d.Abs().Microseconds())
}
