package draw

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Cell is a fault that strikes a client in a phase. A fault that names no
// client strikes all of them.
type Cell struct {
	Fault string `json:"fault"`
	Phase Phase  `json:"phase"`
}

// Coverage counts how often each cell was hit.
type Coverage map[Cell]int

// Cover returns the cells that a history hits. Faults that could not strike hit
// none.
func Cover(h *history.History) Coverage {
	c := Coverage{}
	r := newReader(h)
	for r.next < len(h.Events) {
		e := &h.Events[r.next]
		r.read()
		if e.Kind != history.Fault || e.Fault.Phase != history.PhaseStart {
			continue
		}
		for _, name := range r.struck(e.Fault) {
			if p := r.phase(name, e.Time); p != "" {
				c[Cell{e.Fault.Name, p}]++
			}
		}
	}
	return c
}

// Add adds counts to the coverage, and returns it.
func (c Coverage) Add(counts []Count) Coverage {
	for _, n := range counts {
		c[n.Cell] += n.Hits
	}
	return c
}

// Holes are the possible cells of the faults that were never hit, in order.
func (c Coverage) Holes(faults []string) []Cell {
	var holes []Cell
	for _, f := range faults {
		for _, p := range Phases {
			if cell := (Cell{f, p}); c[cell] == 0 && Possible(f, p) {
				holes = append(holes, cell)
			}
		}
	}
	return holes
}

// Count is a cell and its number of hits.
type Count struct {
	Cell
	Hits int `json:"hits"`
}

// Counts lists the hit cells, by fault and then by phase.
func (c Coverage) Counts() []Count {
	counts := []Count{}
	for cell, n := range c {
		counts = append(counts, Count{cell, n})
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), slices.Index(Phases, a.Phase)-slices.Index(Phases, b.Phase))
	})
	return counts
}

// Mark is the number of hits of a cell, a dot for a hole and a dash for a cell that
// cannot be hit.
func (c Coverage) Mark(fault string, p Phase) string {
	switch n := c[Cell{fault, p}]; {
	case n > 0:
		return fmt.Sprint(n)
	case Possible(fault, p):
		return "."
	}
	return "-"
}
