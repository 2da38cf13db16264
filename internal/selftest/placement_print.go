package selftest

import (
	"cmp"
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Alive names the mutants that no placement found, with the mistake of each.
func (r *PlacementRecord) Alive() Alive {
	return alive(r.Summary, r.Flaws, r.Mutants, "no single fault", "some mistakes need two faults, or a larger workload")
}

// Text writes a table of the mutants and a summary.
func (r *PlacementRecord) Text(w io.Writer) error { return r.print(w, false) }

// Markdown writes the command, the table and the summary.
func (r *PlacementRecord) Markdown(w io.Writer) error { return r.print(w, true) }

func (r *PlacementRecord) print(w io.Writer, markdown bool) error {
	return printMutants(w, markdown, r.Command, []string{"mutant", "of", "base", "placements", "found by"}, r.Mutants, 3, r.sentence())
}

// cells are the base, the number of the placement, and the find.
func (m placementRow) cells() []string {
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
