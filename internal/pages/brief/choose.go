// Package brief renders one run as one A4 page for a design review. The page has
// the claim, the picture, the story, the reason, the remedy, and the command that
// repeats the run.
package brief

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages/cards"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// ErrCell means that the results have no run of a SCENARIO/LOCK.
var ErrCell = errors.New("no such run")

// Cells lists the SCENARIO/LOCK of all runs, in their order.
func Cells(res results.Results) []string {
	var all []string
	for i := range res.Runs {
		if c := cellOf(&res.Runs[i]); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

func cellOf(r *results.Run) string { return r.Scenario + "/" + r.Column() }

// Choose picks the run for a page, and gives the reason. With a cell it picks the
// worst run of that cell; the error is [ErrCell] without such a run. Without a
// cell it picks the most telling violation of all runs, or nil if no run violates
// a property.
func Choose(d reports.Document, cell string) (r *results.Run, why string, err error) {
	var all []*results.Run
	for i := range d.Results.Runs {
		x := &d.Results.Runs[i]
		if cell == "" && x.Failure == "" && breaks(x) || cell != "" && cellOf(x) == cell {
			all = append(all, x)
		}
	}
	switch {
	case len(all) == 0 && cell != "":
		return nil, "", fmt.Errorf("%w: %s", ErrCell, reports.Clean(cell))
	case len(all) == 0:
		return nil, "", nil
	}
	best := slices.MinFunc(all, func(a, b *results.Run) int { return compare(d, a, b) })
	switch {
	case cell != "" && len(all) > 1:
		return best, fmt.Sprintf("The worst of %s of this scenario with this lock.", english.Count(len(all), "run")), nil
	case cell != "" || len(all) == 1:
		return best, "", nil
	}
	return best, fmt.Sprintf("The most telling of %s that violate something: %s.", english.Count(len(all), "run"), reason(d, best)), nil
}

// compare orders runs from the most telling to the least. Unexpected verdicts
// come first, then the worst way to break, then runs with a picture, then runs
// beside a lock that survives, then the longest time with two holders. Equal runs
// keep the order of the results.
func compare(d reports.Document, a, b *results.Run) int {
	return cmp.Or(
		before(!a.Passed(), !b.Passed()),
		cmp.Compare(rank(a), rank(b)),
		before(a.History != "" && !slices.Contains(d.Missing, a.History), b.History != "" && !slices.Contains(d.Missing, b.History)),
		before(survivor(d, a) != nil, survivor(d, b) != nil),
		cmp.Compare(b.Verdicts[checker.Exclusion].OverlapMS, a.Verdicts[checker.Exclusion].OverlapMS),
	)
}

// reason states why compare prefers a run.
func reason(d reports.Document, r *results.Run) string {
	var parts []string
	if !r.Passed() {
		parts = append(parts, "nobody expects it")
	}
	if w, ok := cards.WayOf(r); ok {
		parts = append(parts, "its way to break, "+w.How+", is the worst")
	}
	if survivor(d, r) != nil {
		parts = append(parts, "another lock survives the same")
	}
	if r.Verdicts[checker.Exclusion].OverlapMS > 0 {
		parts = append(parts, "of these it has two holders for the longest time")
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

func breaks(r *results.Run) bool {
	_, ok := cards.WayOf(r)
	return ok
}

func rank(r *results.Run) int {
	w, ok := cards.WayOf(r)
	if !ok {
		return 1000
	}
	return w.Rank
}

// survivors are the locks that survive all runs of the scenario of r, in the
// order of the results.
func survivors(d reports.Document, r *results.Run) []*results.Run {
	var all []*results.Run
	at := map[string]int{}
	failed := map[string]bool{}
	for i := range d.Results.Runs {
		x := &d.Results.Runs[i]
		if x.Scenario != r.Scenario {
			continue
		}
		if breaks(x) || cards.Undecided(x) || !x.Passed() {
			failed[x.Column()] = true
		} else if _, seen := at[x.Column()]; !seen {
			at[x.Column()] = len(all)
			all = append(all, x)
		}
	}
	return slices.DeleteFunc(all, func(x *results.Run) bool { return failed[x.Column()] })
}

// survivor is the lock to draw beside a run that breaks, as of [cards.Beside].
func survivor(d reports.Document, r *results.Run) *results.Run {
	if !breaks(r) {
		return nil
	}
	var all []*results.Run
	for i := range d.Results.Runs {
		if x := &d.Results.Runs[i]; x.Scenario == r.Scenario {
			all = append(all, x)
		}
	}
	return cards.Beside(r, all, cmp.Or(d.Reference, "reentrant"))
}
