package selftest

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-go/holdfast/internal/english"
)

// add adds the row of a mutant.
func (r *PlacementRecord) add(row PlacementRow) {
	r.Mutants = append(r.Mutants, row)
	r.Summary.Mutants++
	switch row.Status {
	case found:
		r.Summary.Found++
	case NotFound:
		r.Summary.NotFound++
	}
}

// summarize computes the median and the highest of the placements.
func (r *PlacementRecord) summarize() {
	var all []int // the mutants without a find took more than all of these
	for _, m := range r.Mutants {
		if m.Status == found {
			all = append(all, m.Placements)
		}
	}
	slices.Sort(all)
	if at := midpoint(len(r.Mutants)); at < len(all) {
		r.Summary.Median = all[at]
	}
	if n := len(all); n > 0 {
		r.Summary.Highest = all[n-1]
	}
}

// Missed names the mutants that no placement found, with the mistake of each.
func (r *PlacementRecord) Missed() (names, hints []string) {
	for _, m := range r.Mutants {
		if m.Status == NotFound {
			names = append(names, m.Name)
			hints = append(hints, fmt.Sprintf("no single fault shows what is wrong with %s: %s", m.Name, m.Mistake))
		}
	}
	return names, hints
}

// Text writes a table of the mutants and a summary.
func (r *PlacementRecord) Text(w io.Writer) error { return r.table().text(w) }

// Markdown writes the command, the table and the summary.
func (r *PlacementRecord) Markdown(w io.Writer) error { return r.table().markdown(w, r.Command) }

func (r *PlacementRecord) table() table {
	t := table{head: []string{"mutant", "of", "base", "placements", "found by"}, numbers: 3, sentence: r.sentence()}
	for _, m := range r.Mutants {
		t.rows = append(t.rows, append([]string{m.Name, m.Of}, m.cells()...))
	}
	return t
}

// cells are the base, the number of the placement, and the find.
func (m PlacementRow) cells() []string {
	if m.Status != found {
		return []string{"", "", m.Status}
	}
	by := fmt.Sprintf("%s after %s", m.Property, cmp.Or(english.And(m.Faults), "no fault"))
	return []string{m.Base, fmt.Sprint(m.Placements), by}
}

func (r *PlacementRecord) sentence() string {
	s := r.Summary
	text := fmt.Sprintf("%d of %d found", s.Found, s.Mutants)
	if s.Found > 0 {
		text += fmt.Sprintf("; the median mutant at placement %d, the hardest at %d", s.Median, s.Highest)
	}
	return text + fmt.Sprintf(". %s.", span(r.WallMS))
}
