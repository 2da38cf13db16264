package mutation

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/internal/english"
)

// columns are the heads of a table of counts.
func (r *Report) columns() []string {
	all := []string{"mutants", "killed", "survived", "not reached", "timed out", "equivalent", "raw", "without equivalents"}
	if r.Tests {
		all = append(all, "killed by tests alone", "with tests")
	}
	return all
}

// cells are the counts in the order of the columns.
func (r *Report) cells(c Counts) []string {
	var cells []string
	for _, n := range []int{c.Played, c.Killed, c.Survived, c.NotReached, c.TimedOut, c.Equivalent} {
		cells = append(cells, fmt.Sprint(n))
	}
	cells = append(cells, c.Raw(), c.Score())
	if r.Tests {
		cells = append(cells, fmt.Sprint(c.Tested), c.Both())
	}
	return cells
}

// sentence sums up.
func (r *Report) sentence() string {
	s := fmt.Sprintf("%s of %d played: %d killed, %d survived, %d reached by no run, %d timed out. Raw score %s; %s without the %d that are called equivalent.",
		english.Count(r.Played, "mutant"), r.Found, r.Killed, r.Survived, r.NotReached, r.TimedOut, r.Raw(), r.Score(), r.Equivalent)
	if r.Tests {
		s += fmt.Sprintf(" The tests of the locks kill %d more: %s.", r.Tested, r.Both())
	}
	if r.Played < r.Chosen {
		s += fmt.Sprintf(" %d of those chosen are still to be played.", r.Chosen-r.Played)
	}
	return s
}

// Text writes the table of files, every survivor with its diff, and a summary.
func (r *Report) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "file\t"+strings.Join(r.columns(), "\t"))
	for _, row := range r.Files {
		fmt.Fprintf(tw, "%s\t%s\n", row.Name, strings.Join(r.cells(row.Counts), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, m := range r.survivors() {
		fmt.Fprintf(w, "\n%s in %s: %s\n%s", m.ID, m.Func, r.fate(m), m.Diff)
	}
	for _, m := range r.Mutants {
		if m.Status == timedOut {
			fmt.Fprintf(w, "\n%s in %s: timed out in %s\n%s", m.ID, m.Func, m.By, m.Diff)
		}
	}
	for _, id := range r.Stale {
		fmt.Fprintf(w, "\n%s is called equivalent, and there is no such mutant", id)
	}
	for _, id := range r.Wrong {
		fmt.Fprintf(w, "\n%s is called equivalent, and was killed", id)
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

// fate states how a mutant survived.
func (r *Report) fate(m *Result) string {
	text := "no run reaches it"
	if m.Status == survived {
		text = fmt.Sprintf("survived %s with %s", english.Count(m.Runs, "run"), m.Locks)
		if m.Changed == 0 {
			text += ", which all went as with the original"
		}
	}
	switch {
	case m.Test != "":
		text += "; `" + m.Test + "` fails"
	case r.Tests:
		text += "; no test fails"
	}
	return text
}

// Markdown writes the command, the tables of files and operators, and every
// survivor with its diff. It groups the survivors by the test that would kill
// them.
func (r *Report) Markdown(w io.Writer) error {
	fmt.Fprintf(w, "    %s\n\n%s\n", r.Command, r.sentence())
	head := func(of string) {
		columns := r.columns()
		fmt.Fprintf(w, "\n| %s | %s |\n|---|%s\n", of, strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
	}
	head("file")
	for _, row := range r.Files {
		fmt.Fprintf(w, "| %s | %s |\n", row.Name, strings.Join(r.cells(row.Counts), " | "))
	}
	head("operator")
	for _, row := range r.Operators {
		fmt.Fprintf(w, "| `%s` %s | %s |\n", row.Name, does(row.Name), strings.Join(r.cells(row.Counts), " | "))
	}
	some := r.survivors()
	for _, by := range r.remedies(some) {
		text := by
		if by == "" {
			text = "Nobody has looked at these yet."
		}
		fmt.Fprintf(w, "\n### %s\n", text)
		for _, m := range some {
			if r.notes.takes(m.Mutant) == by {
				fmt.Fprintf(w, "\n`%s` in `%s`: %s.\n\n```diff\n%s```\n", m.ID, m.Func, r.fate(m), m.Diff)
			}
		}
	}
	r.aside(w, "Timed out", func(m *Result) string {
		if m.Status == timedOut {
			return m.By
		}
		return ""
	})
	r.aside(w, "Called equivalent", func(m *Result) string { return reasons[m.Equivalent] })
	_, err := fmt.Fprintln(w)
	return err
}

// remedies are the tests that would kill the survivors, in the order of the
// notes.
func (r *Report) remedies(survivors []*Result) []string {
	needed := map[string]bool{}
	for _, m := range survivors {
		needed[r.notes.takes(m.Mutant)] = true
	}
	var all []string
	for _, t := range r.notes.Takes {
		if needed[t.By] {
			all = append(all, t.By)
			delete(needed, t.By)
		}
	}
	if needed[""] {
		all = append(all, "")
	}
	return all
}

// aside lists the mutants with a remark.
func (r *Report) aside(w io.Writer, title string, say func(*Result) string) {
	first := true
	for _, m := range r.Mutants {
		text := say(m)
		if text == "" {
			continue
		}
		if first {
			fmt.Fprintf(w, "\n### %s\n\n| mutant | line | |\n|---|---|---|\n", title)
			first = false
		}
		fmt.Fprintf(w, "| %s | `%s` | %s |\n", m.ID, strings.ReplaceAll(m.Source, "|", `\|`), text)
	}
}
