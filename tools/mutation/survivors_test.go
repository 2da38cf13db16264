package main

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
)

var update = flag.Bool("update", false, "write the table of docs/mutation.md anew")

func last(t *testing.T) *report {
	t.Helper()
	r, err := readReport(strings.NewReader(survivorsFile))
	must.Succeed(t, err)
	return r
}

// The counts of the file are those of the mutants in it. Otherwise the score is not about
// these survivors.
func TestTheCountsAreThoseOfTheSurvivors(t *testing.T) {
	r := last(t)
	alive := func(c counts) counts {
		c.Played -= c.Killed
		c.Killed, c.Tested, c.TestedLate = 0, c.Tested-c.TestedLate, 0 // the file does not name the tests of those that timed out
		return c
	}
	check := func(what string, all counts, of func(*result) bool) {
		t.Helper()
		var listed counts
		for _, m := range r.mutants {
			if of(m) {
				listed.add(m)
			}
		}
		if diff := cmp.Diff(alive(all), alive(listed), cmp.AllowUnexported(counts{})); diff != "" {
			t.Errorf("%s: counted against listed:\n%s", what, diff)
		}
	}
	check("all", r.counts, func(*result) bool { return true })
	for _, f := range r.Files {
		check(f.Name, f.counts, func(m *result) bool { return m.File == f.Name })
	}
	for _, o := range r.Operators {
		check(o.Name, o.counts, func(m *result) bool { return m.Operator == o.Name })
		if !slices.Contains(operatorNames(), o.Name) {
			t.Errorf("there is no operator %s", o.Name)
		}
	}
	sum := func(rows []row) (n int) {
		for _, row := range rows {
			n += row.Killed
		}
		return n
	}
	if sum(r.Files) != r.Killed || sum(r.Operators) != r.Killed {
		t.Errorf("%d killed, by file %d, by operator %d", r.Killed, sum(r.Files), sum(r.Operators))
	}
}

// Readers of the page see the numbers of the file; -update writes them.
func TestThePageHasTheNumbersOfTheSurvivors(t *testing.T) {
	const name, begin, end = "../../docs/mutation.md", "<!-- begin mutants -->\n\n", "<!-- end mutants -->"
	page, err := os.ReadFile(name)
	must.Succeed(t, err)
	head, rest, begun := strings.Cut(string(page), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatal("the marks of the tables are gone")
	}
	var tables bytes.Buffer
	must.Succeed(t, last(t).markdown(&tables))
	want := head + begin + tables.String() + end + tail
	if *update {
		must.Succeed(t, os.WriteFile(name, []byte(want), 0o644))
	} else if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("the page has other numbers (go test ./mutation -run TestThePage -update writes them):\n%s", diff)
	}
	if lines := strings.Count(want, "\n"); lines > 100 {
		t.Errorf("the page has %d lines, at most 100 are read", lines)
	}
}

// The file of one measurement makes the page: it must be read as it was written.
func TestSurvivorsAreReadBack(t *testing.T) {
	var out bytes.Buffer
	must.Succeed(t, last(t).json(&out))
	want, got := strings.Split(survivorsFile, "\n"), strings.Split(out.String(), "\n")
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("line %d of the file:\n%s\nis written as:\n%s", i+1, want[i], got[i])
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d lines are written as %d", len(want), len(got))
	}
	for _, line := range []string{"{}", `{"id":"lock/a.go:drop"}`, `{"id":"lock/a.go:x:drop"}`, "no"} {
		if _, err := readReport(strings.NewReader("{}\n" + line)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: error %v", line, err)
		}
	}
}
