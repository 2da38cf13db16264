package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/sweep"
	"github.com/holdfast-go/holdfast/internal/selftest"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

var update = flag.Bool("update", false, "write the matrix anew")

// The published record has every mutant, killed. The author of a new mutant
// writes the record anew.
func TestTheTrackRecordIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/tables/gallery.md")
	must.Succeed(t, err)
	for _, m := range locks.Mutants() {
		_, row, ok := strings.Cut(string(page), "\n| "+m.Name+" | "+m.Of+" | ")
		row, _, _ = strings.Cut(row, "\n")
		if !ok || strings.Contains(row, "| "+selftest.Survived+" |") {
			t.Errorf("docs/tables/gallery.md does not show %s as killed; make track-record writes it again", m.Name)
		}
	}
}

// docs/matrix.md shows the matrix as the command prints it; -update writes it.
// README shows some of its rows, the whole legend and the count of runs. If a row
// or a count differs, its author copies the line from the output.
func TestTheMatrixIsWhatRunPrints(t *testing.T) {
	t.Parallel()
	h := command(t, "run", "--out", "run")
	if code := h.code(t); code != exitOK {
		t.Fatalf("exit %d\n%s%s", code, &h.stdout, &h.stderr)
	}
	printed, _, _ := strings.Cut(h.stdout.String(), "report: ")
	printed = regexp.MustCompile(`(?m)^.`).ReplaceAllString(printed, "    $0")

	const page = "../../docs/matrix.md"
	before, shown, after := matrixOn(t, page, "\nTo see why")
	if *update {
		must.Succeed(t, os.WriteFile(page, []byte(before+printed+after), 0o644))
	} else if diff := cmp.Diff(shown, printed); diff != "" {
		t.Errorf("docs/matrix.md shows (-) something else than holdfast run prints (+); -update writes it again:\n%s", diff)
	}

	_, excerpt, _ := matrixOn(t, "../../README.md", "    report: ")
	for _, miss := range notAnExcerpt(excerpt, printed) {
		t.Errorf("README.md: %s", miss)
	}
	t.Run("the report in a browser", func(t *testing.T) { inABrowser(t, suite.Dir(filepath.Join(h.home, "run"))) })
}

// matrixOn splits a page into three parts: the text before the output of run,
// that output, and the rest.
func matrixOn(t *testing.T, name, end string) (before, shown, after string) {
	t.Helper()
	page, err := os.ReadFile(name)
	must.Succeed(t, err)
	const run = "    $ go run ./cmd/holdfast run\n"
	before, rest, begins := strings.Cut(string(page), run)
	shown, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no output of holdfast run between %q and %q", name, run, end)
	}
	return before + run, shown, end + after
}

// notAnExcerpt says where some rows of the matrix differ from the whole one. An
// excerpt has the heading, some rows in their order, and everything after the
// rows.
func notAnExcerpt(excerpt, whole string) (misses []string) {
	rows, legend, _ := strings.Cut(excerpt, "\n\n")
	all, wholeLegend, _ := strings.Cut(whole, "\n\n")
	if diff := cmp.Diff(legend, wholeLegend); diff != "" {
		misses = append(misses, "the legend or the count (-) differs from what holdfast run prints (+):\n"+diff)
	}
	head, left, _ := strings.Cut(all, "\n")
	lines := strings.Split(rows, "\n")
	if lines[0] != head {
		misses = append(misses, fmt.Sprintf("the heading is %q, and holdfast run prints %q", lines[0], head))
	}
	if len(lines) < 2 {
		misses = append(misses, "the excerpt has no row")
	}
	left = "\n" + left + "\n"
	for _, row := range lines[1:] {
		_, rest, ok := strings.Cut(left, "\n"+row+"\n")
		if !ok {
			misses = append(misses, "holdfast run prints no such row here: "+row)
			continue
		}
		left = "\n" + rest
	}
	return misses
}

func TestAnExcerptWithAnotherRowIsSeen(t *testing.T) {
	const whole = "    scenario a\n    calm     ok\n    storm    X\n    night    ok\n\n       a  one\n\n    3 runs\n"
	for excerpt, want := range map[string]int{
		whole: 0,
		"    scenario a\n    calm     ok\n    night    ok\n\n       a  one\n\n    3 runs\n": 0,
		"    scenario a\n    storm    ok\n\n       a  one\n\n    3 runs\n":                  1,
		"    scenario a\n    night    ok\n    calm     ok\n\n       a  one\n\n    3 runs\n": 1,
		"    scenario b\n    calm     ok\n\n       a  one\n\n    3 runs\n":                  1,
		"    scenario a\n    calm     ok\n\n       a  one\n\n    2 runs\n":                  1,
		"    scenario a\n\n       a  one\n\n    3 runs\n":                                   1,
		"": 3,
	} {
		if misses := notAnExcerpt(excerpt, whole); len(misses) != want {
			t.Errorf("%d misses instead of %d in\n%s\n%q", len(misses), want, excerpt, misses)
		}
	}
}

// README counts the scenarios and locks.
func TestTheReadmeCounts(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	must.Succeed(t, err)
	page := string(text)
	count := fmt.Sprintf(" %d scenarios against %d locks ", len(scenarios.Names()), len(locks.Names()))
	if !strings.Contains(page, count) {
		t.Errorf("README.md does not say %q", count)
	}
}

// The guide to sweeps names every parameter. Every scenario that it mentions
// parses and has its picture.
func TestTheGuideToSweepsIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../docs/sweep.md")
	must.Succeed(t, err)
	for _, p := range sweep.Params() {
		if !strings.Contains(string(page), "\n| `"+p.Name+"` | ") {
			t.Errorf("docs/sweep.md does not say what %s sets", p.Name)
		}
	}
	for _, name := range sweep.Names() {
		if !strings.Contains(string(page), "    holdfast sweep "+name+" ") {
			t.Errorf("docs/sweep.md has no sweep of %s; make sweeps writes it again", name)
		}
	}
	for _, m := range regexp.MustCompile(`\]\((sweep-[a-z-]+\.svg)\)`).FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat("../../docs/" + m[1]); err != nil {
			t.Error(err)
		}
	}
}
