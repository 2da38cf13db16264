package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// CellError means that the results have no run of a SCENARIO/LOCK.
type CellError struct {
	Cell  string
	Cells []string // of all runs, in their order
}

func (e *CellError) Error() string { return "no such run: " + english.Clean(e.Cell) }

func cellsOf(res results.Results) []string {
	var all []string
	for i := range res.Runs {
		all = added(all, cellOf(&res.Runs[i]))
	}
	return all
}

func cellOf(r *results.Run) string { return r.Scenario + "/" + r.Column() }

// choose picks the run for a page, and gives the reason. With a cell it picks the
// worst run of that cell. Without a cell it picks the most telling violation of all runs,
// or nil if no run violates a property.
func choose(d Document, cell string) (r *results.Run, why string, err error) {
	var all []*results.Run
	for i := range d.Results.Runs {
		x := &d.Results.Runs[i]
		if cell == "" && x.Failure == "" && breaks(x) || cell != "" && cellOf(x) == cell {
			all = append(all, x)
		}
	}
	switch {
	case len(all) == 0 && cell != "":
		return nil, "", &CellError{cell, cellsOf(d.Results)}
	case len(all) == 0:
		return nil, "", nil
	}
	best := slices.MinFunc(all, func(a, b *results.Run) int { return compareTelling(d, a, b) })
	switch {
	case cell != "" && len(all) > 1:
		return best, fmt.Sprintf("The worst of %s of this scenario with this lock.", english.Count(len(all), "run")), nil
	case cell != "" || len(all) == 1:
		return best, "", nil
	}
	return best, fmt.Sprintf("The most telling of %s that violate something: %s.", english.Count(len(all), "run"), whyTelling(d, best)), nil
}

// compareTelling orders runs from the most telling to the least. Unexpected verdicts come
// first, then hazards that are no act of an operator, and the worst way to break. Of
// these, the order of the hazards counts, a picture, a lock that survives, and whether it is
// the reference that breaks. Equal runs keep the order of the results.
func compareTelling(d Document, a, b *results.Run) int {
	return cmp.Or(
		before(!a.Passed(), !b.Passed()),
		before(!d.about(a.Scenario).Operators, !d.about(b.Scenario).Operators),
		cmp.Compare(checker.HarmOf(b.Verdicts), checker.HarmOf(a.Verdicts)),
		cmp.Compare(d.place(a.Scenario), d.place(b.Scenario)),
		before(a.History != "" && !slices.Contains(d.Missing, a.History), b.History != "" && !slices.Contains(d.Missing, b.History)),
		before(survivor(d, a) != nil, survivor(d, b) != nil),
		before(a.Lock == d.reference(), b.Lock == d.reference()),
	)
}

// place is that of the hazard of a scenario among all. The first of all, that there is
// no fault, comes last.
func (d Document) place(scenario string) int {
	if i := slices.Index(d.Hazards, d.about(scenario).Hazard); i > 0 {
		return i
	}
	return len(d.Hazards)
}

// whyTelling states why compareTelling prefers a run.
func whyTelling(d Document, r *results.Run) string {
	var parts []string
	if !r.Passed() {
		parts = append(parts, "nobody expects it")
	}
	if h := checker.HarmOf(r.Verdicts); h != checker.NoHarm {
		parts = append(parts, "its way to break, "+h.String()+", is the worst")
	}
	if h := d.about(r.Scenario).Hazard; d.place(r.Scenario) < len(d.Hazards) {
		parts = append(parts, "its hazard, "+h+", comes first")
	}
	if survivor(d, r) != nil {
		parts = append(parts, "another lock survives the same")
	}
	if r.Lock == d.reference() {
		parts = append(parts, "it is of the reference lock")
	}
	return english.And(parts)
}

// before sorts true before false.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// survivors are the locks that survive all runs of the scenario of r, in the
// order of the results.
func survivors(d Document, r *results.Run) []*results.Run {
	var all []*results.Run
	at := map[string]int{}
	failed := map[string]bool{}
	for i := range d.Results.Runs {
		x := &d.Results.Runs[i]
		if x.Scenario != r.Scenario {
			continue
		}
		if breaks(x) || undecided(x) || !x.Passed() {
			failed[x.Column()] = true
		} else if _, seen := at[x.Column()]; !seen {
			at[x.Column()] = len(all)
			all = append(all, x)
		}
	}
	return slices.DeleteFunc(all, func(x *results.Run) bool { return failed[x.Column()] })
}

// survivor is the lock to draw beside a run that breaks, as of [chooseBeside].
func survivor(d Document, r *results.Run) *results.Run {
	if !breaks(r) {
		return nil
	}
	var all []*results.Run
	for i := range d.Results.Runs {
		if x := &d.Results.Runs[i]; x.Scenario == r.Scenario {
			all = append(all, x)
		}
	}
	return chooseBeside(r, all, d.reference())
}
