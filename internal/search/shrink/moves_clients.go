package shrink

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
)

func changedClient(s *scenarios.Scenario, name string, change func(*scenarios.Override)) *scenarios.Scenario {
	return changed(s, func(c *scenarios.Scenario) { search.Override(c, name, change) })
}

// fewerClients leaves clients out, some or one; at least one stays. Where
// clients start one after the other, those that remain start as before, or
// else earlier.
func fewerClients(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	n := s.Topology.Clients
	for _, w := range windows(n, n-1) {
		all = append(all, without(s, w[0], w[1]))
		if s.Workload.Stagger != 0 {
			all = append(all, without(startsSaid(s), w[0], w[1]))
		}
	}
	return all
}

// sharedWork leaves one client out and makes another take the lock once more
// instead.
func sharedWork(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for out := s.Topology.Clients; out >= 1; out-- {
		for n := 1; n < s.Topology.Clients; n++ {
			left := without(s, out-1, out)
			all = append(all, changedClient(left, party.Client(n), func(o *scenarios.Override) { o.Holds = new(holdsOf(left, n) + 1) }))
		}
	}
	return all
}

// laterStarts leaves one client out and lets another one, which may have waited
// for it, start as much later as that one has worked.
func laterStarts(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	said := startsSaid(s)
	for out := s.Topology.Clients; out >= 1; out-- {
		gone := s.Override[party.Client(out)]
		began := *said.Override[party.Client(out)].Start
		worked := began + faults.Duration(holdsOf(s, out)*s.Workload.Sections())*either(gone.Think, s.Workload.Think)
		for n := 1; n < s.Topology.Clients; n++ {
			all = append(all, changedClient(without(said, out-1, out), party.Client(n), func(o *scenarios.Override) { o.Start = &worked }))
		}
	}
	return all
}

// startsSaid is s with the start of every client in words of its own.
func startsSaid(s *scenarios.Scenario) *scenarios.Scenario {
	return changed(s, func(c *scenarios.Scenario) {
		for i := range c.Topology.Clients {
			search.Override(c, party.Client(i+1), func(o *scenarios.Override) {
				o.Start = cmp.Or(o.Start, new(c.Workload.Start+faults.Duration(i)*c.Workload.Stagger))
			})
		}
		c.Workload.Start, c.Workload.Stagger = 0, 0
	})
}

// without leaves out the clients from+1 to to, and what is about them alone;
// the others are counted anew.
func without(s *scenarios.Scenario, from, to int) *scenarios.Scenario {
	return changed(s, func(c *scenarios.Scenario) {
		c.Topology.Clients -= to - from
		rename := func(name string) string {
			n := party.Number(name)
			if !party.IsClient(name) || n <= from {
				return name
			}
			if n <= to {
				return ""
			}
			return party.Client(n - (to - from))
		}
		overrides := c.Override
		c.Override = map[string]scenarios.Override{}
		for name, o := range overrides {
			if name = rename(name); name != "" {
				c.Override[name] = o
			}
		}
		c.Faults = slices.DeleteFunc(c.Faults, func(f faults.Spec) bool { return !renameIn(&f, rename) })
		for i := range c.Faults {
			f := &c.Faults[i]
			f.Target, f.Peer = renamed(f.Target, rename), renamed(f.Peer, rename)
			if f.On != nil {
				f.On.Client = rename(f.On.Client)
			}
		}
	})
}

// renameIn reports whether a fault still has whom to strike, and when.
func renameIn(f *faults.Spec, rename func(string) string) bool {
	if len(renamed(f.Target, rename)) == 0 || len(f.Peer) > 0 && len(renamed(f.Peer, rename)) == 0 {
		return false
	}
	return f.On == nil || f.On.Client == "" || rename(f.On.Client) != ""
}

func renamed(names faults.Names, rename func(string) string) (out faults.Names) {
	for _, name := range names {
		if name = rename(name); strings.TrimSpace(name) != "" {
			out = append(out, name)
		}
	}
	return out
}

// fewerHolds makes clients take the lock less often: all, then each.
func fewerHolds(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	all = append(all, changed(s, func(c *scenarios.Scenario) {
		c.Workload.Holds = 1
		for name := range c.Override {
			search.Override(c, name, func(o *scenarios.Override) { o.Holds = nil })
		}
	}))
	for _, n := range fewer(s.Workload.Holds) {
		all = append(all, changed(s, func(c *scenarios.Scenario) { c.Workload.Holds = n }))
	}
	for i := range s.Topology.Clients {
		name := party.Client(i + 1)
		for _, n := range fewer(holdsOf(s, i+1)) {
			all = append(all, changedClient(s, name, func(o *scenarios.Override) { o.Holds = &n }))
		}
	}
	return all
}

// fewer are numbers below n to try.
func fewer(n int) []int {
	list := []int{1, n / 2, n - 1}
	return slices.DeleteFunc(slices.Compact(list), func(m int) bool { return m < 1 || m >= n })
}

// setting is one that a client can have of its own.
type setting struct {
	clear func(*scenarios.Override) bool                 // leaves it out; false when it was not there
	toAll func(*scenarios.Override, *scenarios.Workload) // gives it to all, where it is there
}

// overridable are the settings that a client can have of its own.
var overridable = []setting{
	own(func(o *scenarios.Override) **int { return &o.Holds }, func(w *scenarios.Workload) *int { return &w.Holds }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Lease }, func(w *scenarios.Workload) *faults.Duration { return &w.Lease }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Wait }, func(w *scenarios.Workload) *faults.Duration { return &w.Wait }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Think }, func(w *scenarios.Workload) *faults.Duration { return &w.Think }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Rest }, func(w *scenarios.Workload) *faults.Duration { return &w.Rest }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Start }, func(w *scenarios.Workload) *faults.Duration { return &w.Start }),
	own(func(o *scenarios.Override) **bool { return &o.Explicit }, func(w *scenarios.Workload) *bool { return &w.Explicit }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Close }, func(w *scenarios.Workload) *faults.Duration { return &w.Close }),
	own(func(o *scenarios.Override) **faults.Duration { return &o.Extend }, func(w *scenarios.Workload) *faults.Duration { return &w.Extend }),
}

// own is one entry of overridable.
func own[T any](of func(*scenarios.Override) **T, in func(*scenarios.Workload) *T) setting {
	return setting{
		clear: func(o *scenarios.Override) bool {
			was := *of(o)
			*of(o) = nil
			return was != nil
		},
		toAll: func(o *scenarios.Override, w *scenarios.Workload) {
			if is := *of(o); is != nil {
				*in(w), *of(o) = *is, nil
			}
		},
	}
}

// fewerOverrides makes clients more like the others: all, one client, one
// setting.
func fewerOverrides(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	all = append(all, changed(s, func(c *scenarios.Scenario) { clear(c.Override) }))
	names := slices.Sorted(maps.Keys(s.Override))
	for _, name := range names {
		all = append(all, changed(s, func(c *scenarios.Scenario) { delete(c.Override, name) }))
	}
	for _, name := range names {
		for _, f := range overridable {
			all = append(all, changedClient(s, name, func(o *scenarios.Override) { f.clear(o) }))
		}
	}
	return all
}

// ownToAll gives a setting that one client has of its own to all.
func ownToAll(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for _, name := range slices.Sorted(maps.Keys(s.Override)) {
		for _, f := range overridable {
			all = append(all, changed(s, func(c *scenarios.Scenario) {
				search.Override(c, name, func(o *scenarios.Override) { f.toAll(o, &c.Workload) })
			}))
		}
	}
	return all
}
