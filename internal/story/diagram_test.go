package story_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

var update = flag.Bool("update", false, "write the diagrams anew")

// A diagram fits under the reason of a failed test. It marks the moment in its lanes and
// among its steps, and names the request.
func TestDiagrams(t *testing.T) {
	for _, c := range []struct {
		scenario, lock string
		property       checker.Property
		request        string
	}{
		{"failover-lost-write", "reentrant", checker.Exclusion, "[op 3: EVAL at node-1-replica-1]"},
		{"late-release", "set-px", checker.Exclusion, "the DEL of client-1 deletes the lock of client-2"},
		{"renewal-hiccup", "renewal-stops-after-one-error", checker.Renewal, "[op 1: EVAL at node-1]"},
		{"lost-unlock-message", "no-safety-poll", checker.Progress, "[op 13: EVALSHA at node-1]"},
		{"reentrancy", "nested-acquire-counts-two", checker.Count, "count 3"},
		{"redlock-node-restart", "redlock", checker.Exclusion, "[op "},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			s, err := scenarios.Find(c.scenario)
			must.Succeed(t, err)
			p, err := play.Simulate(s, locks.MustFind(c.lock), 1, "test")
			must.Succeed(t, err)
			judged, err := checker.Judge(p.History, checker.Options{})
			must.Succeed(t, err)
			got := story.Diagram(p.History, &results.Run{Verdicts: judged.Verdicts}, c.property)
			fits(t, got)
			for _, part := range []string{"v " + string(c.property) + " violated", "\n! ", c.request} {
				if !strings.Contains(strings.ReplaceAll(got, string(c.property)+" violated v", "v "+string(c.property)+" violated"), part) {
					t.Errorf("the diagram lacks %q", part)
				}
			}
			path := filepath.Join("testdata", c.scenario+".txt")
			if *update {
				must.Succeed(t, os.WriteFile(path, []byte(got), 0o666))
			}
			want, err := os.ReadFile(path)
			must.Succeed(t, err)
			if got != string(want) {
				t.Errorf("%s is out of date (go test ./internal/story -update):\n%s", path, got)
			}
		})
	}
}

// fits checks the size of a diagram, and that it has nothing but what any terminal and
// any log of a test shows.
func fits(t *testing.T, diagram string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(diagram, "\n"), "\n")
	if len(lines) < 8 || len(lines) > 30 {
		t.Errorf("%d lines:\n%s", len(lines), diagram)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 100 || strings.TrimRight(l, " ") != l {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(l), l)
		}
	}
}

// Whatever a wrong lock breaks in the catalogue, the diagram of it fits.
func TestEveryDiagramFits(t *testing.T) {
	drawn := 0
	for _, s := range scenarios.Catalogue() {
		l := locks.MustFind("set-px")
		if ok, _ := s.Applies(l); !ok {
			continue
		}
		p, err := play.Simulate(s, l, 1, "test")
		must.Succeed(t, err)
		judged, err := checker.Judge(p.History, checker.Options{})
		must.Succeed(t, err)
		for property, v := range judged.Verdicts {
			if v.Outcome == checker.Violated && len(v.Ops) > 0 {
				drawn++
				fits(t, story.Diagram(p.History, &results.Run{Verdicts: judged.Verdicts}, property))
			}
		}
	}
	if drawn < 30 {
		t.Errorf("only %d diagrams were drawn", drawn)
	}
}
