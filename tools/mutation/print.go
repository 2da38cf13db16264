package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/version"
)

// print writes the report in a format.
func (r *report) print(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.json(w)
	case "markdown":
		return r.markdown(w)
	case "html":
		return r.page().HTML(w)
	}
	return r.text(w)
}

// page shows which files and rules have survivors. Equivalent mutants, and those that timed
// out, count for nothing.
func (r *report) page() pages.Detection {
	d := pages.Detection{
		Kind: "mutation", Asked: "Does Holdfast detect arbitrary mistakes in locks?", Command: r.Command, Version: version.Holdfast,
		Answer: fmt.Sprintf("%d of %s detected, without equivalent ones: %s.", r.Killed+r.Tested, english.Count(r.Played, "mutant"), r.both()),
		Title:  "Where mutants survive", Note: "How many mutants of a file are detected, by the rule that makes them.", Corner: "file",
	}
	for _, o := range r.Operators {
		d.Columns = append(d.Columns, o.Name)
	}
	d.Columns = append(d.Columns, "all")
	for _, f := range r.Files {
		row := pages.DetectionRow{Name: f.Name, Cells: make([]pages.Detected, len(d.Columns))}
		for _, m := range r.mutants {
			if m.File != f.Name {
				continue
			}
			for i, column := range d.Columns {
				c := &row.Cells[i]
				switch {
				case column != m.Operator && i < len(r.Operators):
				case m.Status == killed || m.Test != "":
					c.By++
				case m.Status != timedOut && m.Equivalent == "":
					c.Missed++
				}
			}
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// columns are the heads of a table of counts.
func (r *report) columns() []string {
	all := []string{"mutants", "killed", "survived", "not reached", "timed out", "equivalent", "raw", "without equivalents"}
	if r.Tests {
		all = append(all, "killed by tests alone", "with tests")
	}
	return all
}

// cells are the counts in the order of the columns.
func (r *report) cells(c counts) []string {
	var cells []string
	for _, n := range []int{c.Played, c.Killed, c.Survived, c.NotReached, c.TimedOut, c.Equivalent} {
		cells = append(cells, fmt.Sprint(n))
	}
	cells = append(cells, c.raw(), c.score())
	if r.Tests {
		cells = append(cells, fmt.Sprint(c.Tested), c.both())
	}
	return cells
}

// sentence sums up.
func (r *report) sentence() string {
	s := fmt.Sprintf("%s of %d played: %d killed, %d survived, %d reached by no run, %d timed out. Raw score %s; %s without the %d that are called equivalent.",
		english.Count(r.Played, "mutant"), r.Found, r.Killed, r.Survived, r.NotReached, r.TimedOut, r.raw(), r.score(), r.Equivalent)
	if r.Tests {
		s += fmt.Sprintf(" The tests of the locks kill %d more: %s.", r.Tested, r.both())
	}
	if r.Played < r.Chosen {
		s += fmt.Sprintf(" %d of those chosen are still to be played.", r.Chosen-r.Played)
	}
	return s
}

// text writes the table of files, every survivor with its diff, and a summary.
func (r *report) text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "file\t"+strings.Join(r.columns(), "\t"))
	for _, row := range r.Files {
		fmt.Fprintf(tw, "%s\t%s\n", row.Name, strings.Join(r.cells(row.counts), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, m := range r.survivors() {
		fmt.Fprintf(w, "\n%s in %s: %s\n%s", m.ID, m.Func, r.fate(m), m.Diff)
	}
	for _, m := range r.mutants {
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
func (r *report) fate(m *result) string {
	text := "no run reaches it"
	if m.Status == survived {
		text = fmt.Sprintf("survived %s with %s", english.Count(m.Runs, "run"), m.Locks)
		if !m.Changed {
			text += ", which all went as with the original"
		}
	}
	switch {
	case m.Test != "":
		text += "; " + m.Test + " fails"
	case r.Tests:
		text += "; no test fails"
	}
	return text
}

// markdown writes the command, the score, and tables of the operators and of the classes
// of survivors.
func (r *report) markdown(w io.Writer) error {
	fmt.Fprintf(w, "    %s\n\n%s\n\n| operator | %s |\n|---|%s\n", r.Command, r.sentence(), strings.Join(r.columns(), " | "), strings.Repeat("---:|", len(r.columns())))
	for _, row := range r.Operators {
		fmt.Fprintf(w, "| `%s` %s | %s |\n", row.Name, describe(row.Name), strings.Join(r.cells(row.counts), " | "))
	}
	fmt.Fprint(w, "\n| survivors that this would kill | mutants | reached by no run | killed by tests | left |\n|---|---:|---:|---:|---:|\n")
	some := r.survivors()
	var small []*result // of the classes that have no row
	classes := 0
	for _, by := range r.remedies(some) {
		var of []*result
		for _, m := range some {
			if r.notes.remedyFor(m.Mutant) == by {
				of = append(of, m)
			}
		}
		all := sum(of)
		switch {
		case by == "":
			by = "Not examined yet"
		case all.Played-all.Tested < smallClass:
			classes++
			small = append(small, of...)
			continue
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d |\n", by, all.Played, all.NotReached, all.Tested, all.Played-all.Tested)
	}
	if classes > 0 {
		all := sum(small)
		fmt.Fprintf(w, "| %d smaller classes, which `notes.yaml` has | %d | %d | %d | %d |\n", classes, all.Played, all.NotReached, all.Tested, all.Played-all.Tested)
	}
	_, err := fmt.Fprintln(w)
	return err
}

func sum(of []*result) (all counts) {
	for _, m := range of {
		all.add(m)
	}
	return all
}

// smallClass is the number of survivors below which a class has no row of its own.
const smallClass = 5

// remedies are the tests that would kill the survivors, in the order of the
// notes.
func (r *report) remedies(survivors []*result) []string {
	needed := map[string]bool{}
	for _, m := range survivors {
		needed[r.notes.remedyFor(m.Mutant)] = true
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
