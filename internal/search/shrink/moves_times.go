package shrink

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

// timeOf is where a scenario has one of its times; nil when it does not say it.
type timeOf func(*scenarios.Scenario) *faults.Duration

// times are all times of a scenario. A move that changes no more than times changes
// neither their number nor their order.
func times(s *scenarios.Scenario) []timeOf {
	all := []timeOf{
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Lease },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Wait },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Think },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Rest },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Start },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Stagger },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Poll },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Handoff },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Close },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Workload.Extend },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Topology.Latency.Min },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Topology.Latency.Max },
		func(s *scenarios.Scenario) *faults.Duration { return &s.Topology.Lag },
	}
	for i := range s.Workload.Nested {
		all = append(all, nth(i, func(s *scenarios.Scenario) []faults.Duration { return s.Workload.Nested },
			func(d *faults.Duration) *faults.Duration { return d }))
	}
	for _, client := range slices.Sorted(maps.Keys(s.Override)) {
		for _, of := range []func(scenarios.Override) *faults.Duration{
			func(o scenarios.Override) *faults.Duration { return o.Lease },
			func(o scenarios.Override) *faults.Duration { return o.Wait },
			func(o scenarios.Override) *faults.Duration { return o.Think },
			func(o scenarios.Override) *faults.Duration { return o.Rest },
			func(o scenarios.Override) *faults.Duration { return o.Start },
			func(o scenarios.Override) *faults.Duration { return o.Close },
			func(o scenarios.Override) *faults.Duration { return o.Extend },
		} {
			all = append(all, func(s *scenarios.Scenario) *faults.Duration { return of(s.Override[client]) })
		}
	}
	for i := range s.Faults {
		for _, of := range []func(*faults.Spec) *faults.Duration{
			func(f *faults.Spec) *faults.Duration { return f.At },
			func(f *faults.Spec) *faults.Duration { return &f.After },
			func(f *faults.Spec) *faults.Duration { return &f.For },
			func(f *faults.Spec) *faults.Duration { return &f.By },
			func(f *faults.Spec) *faults.Duration { return &f.Jitter },
		} {
			all = append(all, nth(i, func(s *scenarios.Scenario) []faults.Spec { return s.Faults }, of))
		}
	}
	return all
}

// nth is a time in an item of a list, which may be shorter by now.
func nth[T any](i int, list func(*scenarios.Scenario) []T, of func(*T) *faults.Duration) timeOf {
	return func(s *scenarios.Scenario) *faults.Duration {
		if i >= len(list(s)) {
			return nil
		}
		return of(&list(s)[i])
	}
}

// rounder gives time i of a scenario the simplest numbers.
func rounder(i int) func(*scenarios.Scenario) []*scenarios.Scenario {
	return func(s *scenarios.Scenario) (all []*scenarios.Scenario) {
		list := times(s)
		if i >= len(list) || list[i](s) == nil {
			return nil
		}
		for _, d := range simpler(time.Duration(*list[i](s))) {
			all = append(all, changed(s, func(c *scenarios.Scenario) { *list[i](c) = faults.Duration(d) }))
		}
		return all
	}
}

// simple are the times that people write first.
var simple = []time.Duration{
	0, time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
}

// simpler are times that are simpler than d, the simplest first: short ones, up
// to twice as long, and d in round numbers.
func simpler(d time.Duration) []time.Duration {
	sign := time.Duration(1)
	if d < 0 {
		sign, d = -1, -d
	}
	all := slices.Clone(simple)
	for _, u := range units {
		all = append(all, d.Truncate(u), d.Truncate(u)+u)
		if u < d/20 {
			break // the difference is invisible
		}
	}
	all = slices.DeleteFunc(all, func(x time.Duration) bool { return x > 2*d || crooked(x) >= crooked(d) })
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(crooked(a), crooked(b)) })
	all = slices.Compact(all)
	for i := range all {
		all[i] *= sign
	}
	return all
}
