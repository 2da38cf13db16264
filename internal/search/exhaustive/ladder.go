package exhaustive

import (
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/play"
)

// ladder are variants that differ only in how long the fault lasts, the shortest
// first. A fault that outlasts the workload ends with it. So the longer ones give the
// same run, and need no play.
type ladder []int

// laddersOf groups variants, in order. A variant without a duration has a ladder of
// its own.
func laddersOf(able []variant) []ladder {
	var all []ladder
	before := ""
	for i, v := range able {
		s := v.Spec
		mine := ""
		if s.For > 0 || v.Class == forEver {
			s.For = 0
			mine = mark(s)
		}
		if mine != "" && mine == before {
			all[len(all)-1] = append(all[len(all)-1], i)
		} else {
			all = append(all, ladder{i})
		}
		before = mine
	}
	return all
}

// outlasts says of each fault of a run whether it ended with the workload, before its
// time. If the horizon ended the workload, none did: a longer fault moves the horizon.
func outlasts(all []faults.Spec, played *play.Played) []bool {
	out := make([]bool, len(all))
	began := make([]int64, len(all))
	for _, e := range played.History.Events {
		if e.Fault == nil || played.Overran {
			continue
		}
		switch i := e.Fault.ID - 1; e.Fault.Phase {
		case history.PhaseStart:
			began[i] = e.Time
		case history.PhaseEnd:
			out[i] = e.Time-began[i] < int64(all[i].For)
		}
	}
	return out
}

// shorter finds the cell whose run is also that of cell i, because a fault in it outlasts
// the workload. It returns -1 if it finds none. all has the cells before i.
func (o order) shorter(all []seen, i int) int {
	last := len(o.Cells[i].Faults) - 1
	if before := i - 1; i%o.Wide > 0 && all[before].outlasts(last) {
		return before
	}
	if above := i - o.Wide; above >= 0 && all[above].outlasts(last-1) {
		return above
	}
	return -1
}

func (s seen) outlasts(fault int) bool { return len(s.Outlasts) > 0 && s.Outlasts[fault] }
