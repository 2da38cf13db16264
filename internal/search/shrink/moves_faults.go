package shrink

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios"
)

func changedFault(s *scenarios.Scenario, i int, change func(*faults.Spec)) *scenarios.Scenario {
	return changed(s, func(c *scenarios.Scenario) { change(&c.Faults[i]) })
}

// plainerFaults makes faults strike fewer parties and say less.
func plainerFaults(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for i, f := range s.Faults {
		for j := range f.Target {
			all = append(all, changedFault(s, i, func(f *faults.Spec) { f.Target = slices.Delete(f.Target, j, j+1) }))
		}
		for j := range f.Peer {
			all = append(all, changedFault(s, i, func(f *faults.Spec) { f.Peer = slices.Delete(f.Peer, j, j+1) }))
		}
		for _, less := range []func(*faults.Spec){
			func(f *faults.Spec) { f.After = 0 },
			func(f *faults.Spec) { f.For = 0 },
			func(f *faults.Spec) { f.Jitter = 0 },
			func(f *faults.Spec) { f.Direction = "" },
			func(f *faults.Spec) { f.To = "" },
			func(f *faults.Spec) { f.Mode = "" },
			func(f *faults.Spec) { f.Data = "" },
			func(f *faults.Spec) { f.Rate = math.Round(f.Rate*2) / 2 },
			func(f *faults.Spec) { f.Rate = math.Round(f.Rate*10) / 10 },
		} {
			all = append(all, changedFault(s, i, less))
		}
	}
	return all
}

// simplerAnchors makes faults strike at a moment that takes fewer words.
func simplerAnchors(s *scenarios.Scenario) (all []*scenarios.Scenario) {
	for i, f := range s.Faults {
		for _, a := range anchorsFor(s, f) {
			all = append(all, changedFault(s, i, func(f *faults.Spec) { f.At, f.On, f.After = nil, a, 0 }))
		}
		if f.On != nil {
			for _, less := range plainerAnchors(*f.On) {
				all = append(all, changedFault(s, i, func(f *faults.Spec) { f.On = &less }))
			}
		}
		for _, at := range []time.Duration{0, 1, 2, 3, 5, 10} {
			all = append(all, changedFault(s, i, func(f *faults.Spec) {
				f.At, f.On, f.After = new(faults.Duration(at*time.Second)), nil, 0
			}))
		}
		if f.At != nil && f.After != 0 {
			all = append(all, changedFault(s, i, func(f *faults.Spec) { *f.At, f.After = *f.At+f.After, 0 }))
		}
	}
	return all
}

// anchorsFor are the moments that say best what a fault is about, for one that
// strikes at a time: it then strikes with any seed.
func anchorsFor(s *scenarios.Scenario, f faults.Spec) (all []*faults.Anchor) {
	if f.At == nil {
		return nil
	}
	for _, moment := range []string{faults.Granted, faults.Writing, faults.Released} {
		for n := range s.Topology.Clients {
			all = append(all, &faults.Anchor{Moment: moment, Client: party.Client(n + 1)})
		}
	}
	return all
}

// plainerAnchors are the moments that are said with fewer words.
func plainerAnchors(a faults.Anchor) (all []faults.Anchor) {
	less := func(change func(*faults.Anchor)) {
		b := a
		change(&b)
		all = append(all, b)
	}
	less(func(a *faults.Anchor) { a.Node, a.Op, a.Command, a.Changed, a.Nth = "", "", "", false, 0 })
	less(func(a *faults.Anchor) { *a = faults.Anchor{Moment: faults.Granted, Client: a.Client} })
	less(func(a *faults.Anchor) { a.Nth = 0 })
	for _, n := range fewer(a.Nth) {
		less(func(a *faults.Anchor) { a.Nth = n })
	}
	less(func(a *faults.Anchor) { a.Node = "" })
	less(func(a *faults.Anchor) { a.Command = "" })
	less(func(a *faults.Anchor) { a.Changed = false })
	less(func(a *faults.Anchor) { a.Op = "" })
	less(func(a *faults.Anchor) { a.Client = "" })
	return all
}
