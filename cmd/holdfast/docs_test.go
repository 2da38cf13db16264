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

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/sweep"
	"github.com/holdfast-go/holdfast/internal/selftest"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
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
// README shows some of its cells in words.
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

	res, err := suite.Dir(filepath.Join(h.home, "run")).ReadResults()
	must.Succeed(t, err)
	readme, err := os.ReadFile("../../README.md")
	must.Succeed(t, err)
	table := regexp.MustCompile(`(?m)^\| scenario \|(?:.*\n\|)+.*\n`).FindString(string(readme))
	if diff := cmp.Diff(table, inWords(table, res)); table == "" || diff != "" {
		t.Errorf("README.md shows (-) something else than holdfast run found (+):\n%s", diff)
	}
	t.Run("the report in a browser", func(t *testing.T) {
		inABrowser(t, suite.Dir(filepath.Join(h.home, "run")))
		everyLabelIsReadable(t, suite.Dir(filepath.Join(h.home, "run")), res)
	})
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

// inWords writes a table of scenarios and locks with what was found in its cells.
func inWords(table string, res results.Results) string {
	lines := strings.Split(table, "\n")
	columns := strings.Split(lines[0], "|")
	for i := 2; i < len(lines)-1; i++ {
		cells := strings.Split(lines[i], "|")
		for j := 2; j < len(cells)-1; j++ {
			cells[j] = " not played "
			for _, r := range res.Runs {
				if r.Scenario != strings.TrimSpace(cells[1]) || r.Column() != strings.TrimSpace(columns[j]) {
					continue
				}
				if cells[j] = " survives "; checker.HarmOf(r.Verdicts) != checker.NoHarm {
					cells[j] = " **" + checker.HarmOf(r.Verdicts).String() + "** "
				}
			}
		}
		lines[i] = strings.Join(cells, "|")
	}
	return strings.Join(lines, "\n")
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
