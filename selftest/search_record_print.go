package selftest

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Text writes a table of the mutants and a summary.
func (r *SearchRecord) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "mutant\tof\ttrials\truns\tfound by")
	for _, m := range r.Mutants {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", m.Name, m.Of, strings.Join(m.cells(), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// Markdown writes the command, the table and the summary.
func (r *SearchRecord) Markdown(w io.Writer) error {
	fmt.Fprintf(w, "    %s\n\n", r.Command)
	fmt.Fprintln(w, "| mutant | of | trials | runs | found by |")
	fmt.Fprintln(w, "|---|---|---:|---:|---|")
	for _, m := range r.Mutants {
		fmt.Fprintf(w, "| %s | %s | %s |\n", m.Name, m.Of, strings.Join(m.cells(), " | "))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// cells are the trials with a find, the median, and the find.
func (m SearchRow) cells() []string {
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
