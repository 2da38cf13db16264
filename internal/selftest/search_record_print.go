package selftest

import (
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Text writes a table of the mutants and a summary.
func (r *SearchRecord) Text(w io.Writer) error { return r.print(w, false) }

// Markdown writes the command, the table and the summary.
func (r *SearchRecord) Markdown(w io.Writer) error { return r.print(w, true) }

func (r *SearchRecord) print(w io.Writer, markdown bool) error {
	return printMutants(w, markdown, r.Command, []string{"mutant", "of", "trials", "runs", "found by"}, r.Mutants, 2, r.sentence())
}

// cells are the trials with a find, the median, and the find.
func (m searchRow) cells() []string {
	if m.Found == 0 {
		return []string{fmt.Sprintf("0 of %d", len(m.Trials)), "", m.Status}
	}
	by := m.Causes[0].String()
	if n := len(m.Causes) - 1; n > 0 {
		by += fmt.Sprintf("; %s", english.Count(n, "other"))
	}
	runs := "more"
	if m.Runs > 0 {
		runs = fmt.Sprint(m.Runs)
	}
	return []string{fmt.Sprintf("%d of %d", m.Found, len(m.Trials)), runs, by}
}

func (r *SearchRecord) sentence() string {
	s := r.Summary
	text := fmt.Sprintf("%d of %d found", s.Found, s.Mutants)
	if s.Median > 0 {
		text += fmt.Sprintf("; the median mutant after %s, the hardest after %d", english.Count(s.Median, "run"), s.Highest)
	}
	return text + fmt.Sprintf(". %s in %s.", english.Count(s.Runs, "run"), span(r.WallMS))
}
