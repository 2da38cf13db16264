package shrink

import (
	"slices"

	"github.com/holdfast-go/holdfast/scenarios"
)

type move struct {
	// changed are the scenarios that the change can make of one, those that
	// are worth most first. They need not be valid, nor smaller.
	changed func(*scenarios.Scenario) []*scenarios.Scenario
	once    bool // a second try finds nothing
	seed    bool // the scenario stays, and the seed becomes the simplest
}

// moves are those of a pass over s, the largest cuts first.
func moves(s *scenarios.Scenario) []move {
	all := []move{
		{changed: nothing, once: true, seed: true},
		{changed: fewerFaults}, {changed: fewerClients}, {changed: fewerHolds}, {changed: sharedWork}, {changed: laterStarts},
		{changed: fewerOverrides}, {changed: ownToAll}, {changed: fewerNested},
		{changed: lessTopology}, {changed: fewerSettings}, {changed: plainerFaults},
	}
	for i := range times(s) {
		all = append(all, move{changed: rounder(i), once: true})
	}
	return append(all, move{changed: simplerAnchors}, move{changed: nothing, once: true, seed: true})
}

func nothing(*scenarios.Scenario) []*scenarios.Scenario { return nil }

// windows are the runs of neighbours among n that can be cut out, the longest
// first and from the end: [from, to). At most most are cut at once.
func windows(n, most int) (all [][2]int) {
	for k := most; k >= 1; k /= 2 {
		for to := n; to > 0; to -= k {
			all = append(all, [2]int{max(0, to-k), to})
		}
	}
	return all
}

func fewerFaults(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for _, w := range windows(len(s.Faults), len(s.Faults)) {
		all = append(all, changed(s, func(c *scenarios.Scenario) { c.Faults = slices.Delete(c.Faults, w[0], w[1]) }))
	}
	return all
}

// lessTopology takes parts of the world away, one at a time.
func lessTopology(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for _, less := range []func(*scenarios.Topology){
		func(t *scenarios.Topology) { t.Cluster, t.Groups = false, 0 },
		func(t *scenarios.Topology) { t.Cluster = false },
		func(t *scenarios.Topology) { t.Groups = 0 },
		func(t *scenarios.Topology) { t.Groups-- },
		func(t *scenarios.Topology) { t.Replicas = 0 },
		func(t *scenarios.Topology) { t.Replicas-- },
		func(t *scenarios.Topology) { t.Latency = scenarios.Latency{} },
		func(t *scenarios.Topology) { t.Lag = 0 },
	} {
		all = append(all, changed(s, func(c *scenarios.Scenario) { less(&c.Topology) }))
	}
	return all
}

// fewerSettings leaves out what a workload need not say.
func fewerSettings(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for _, less := range []func(*scenarios.Workload){
		func(w *scenarios.Workload) { w.Lock = "" },
		func(w *scenarios.Workload) { w.Stagger = 0 },
		func(w *scenarios.Workload) { w.Start = 0 },
		func(w *scenarios.Workload) { w.Poll = 0 },
		func(w *scenarios.Workload) { w.Handoff = 0 },
		func(w *scenarios.Workload) { w.Close = 0 },
		func(w *scenarios.Workload) { w.Extend = 0 },
		func(w *scenarios.Workload) { w.Permits = 0 },
		func(w *scenarios.Workload) { w.Turn = "" },
		func(w *scenarios.Workload) { w.Shutdown = false },
		func(w *scenarios.Workload) { w.Unnest = false },
		func(w *scenarios.Workload) { w.Locks, w.Together = nil, false },
		func(w *scenarios.Workload) { w.Together = false },
		func(w *scenarios.Workload) { w.Explicit = false },
		func(w *scenarios.Workload) { w.Carry = false },
		func(w *scenarios.Workload) { w.RetryRelease = false },
		func(w *scenarios.Workload) { w.SameOwner = false },
	} {
		all = append(all, changed(s, func(c *scenarios.Scenario) { less(&c.Workload) }))
	}
	return all
}

func fewerNested(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for _, w := range windows(len(s.Workload.Nested), len(s.Workload.Nested)) {
		all = append(all, changed(s, func(c *scenarios.Scenario) {
			c.Workload.Nested = slices.Delete(c.Workload.Nested, w[0], w[1])
		}))
	}
	return all
}
