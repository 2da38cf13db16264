package reports

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/results"
)

func page(t *testing.T, d Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestLinksLead: every link of the report has a target, and there is only one
// of each.
func TestLinksLead(t *testing.T) {
	out := page(t, catalogue())
	targets := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(out, -1) {
		targets[m[1]]++
	}
	for id, n := range targets {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	links := regexp.MustCompile(`href="#([^"]*)"|url\(#([^)]*)\)`).FindAllStringSubmatch(out, -1)
	if len(links) < 337 {
		t.Errorf("only %d links", len(links))
	}
	for _, m := range links {
		if targets[m[1]+m[2]] == 0 {
			t.Errorf("a link leads nowhere: %s", m[0])
		}
	}
}

// TestHistoriesAreLoadedOnce: each at most once, and their absence is told.
func TestHistoriesAreLoadedOnce(t *testing.T) {
	d := seeded()
	load, loaded := d.Histories, map[uint64]int{}
	d.Histories = func(r results.Run) (*history.History, error) {
		if r.Scenario == "holder-pause" {
			loaded[r.Seed]++
		}
		switch {
		case r.Scenario == "contention":
			return nil, nil
		case r.Lock == "reentrant":
			return nil, errors.New("disk on fire")
		}
		return load(r)
	}
	out := page(t, d)
	for seed := uint64(1); seed <= 4; seed++ {
		if loaded[seed] != 1 {
			t.Errorf("the history of seed %d was loaded %d times", seed, loaded[seed])
		}
	}
	for _, want := range []string{"The history of this run is not there.", "could not be read: disk on fire"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	d.Histories = nil
	if out := page(t, d); !strings.Contains(out, "is not part of this report") || strings.Contains(out, "<figure>") {
		t.Error("a report without histories does not say so")
	}
}

// TestWhatIsDrawn: in a large report a run in which all is well is drawn for
// the reference lock only.
func TestWhatIsDrawn(t *testing.T) {
	d := catalogue()
	d.Reference = "multi"
	p := newPager(nil, d)
	for i := range d.Results.Runs {
		r := &d.Results.Runs[i]
		if got, want := p.draws(r), markOf(r) != markOK || r.Lock == "multi"; got != want {
			t.Errorf("%s with %s: drawn %v, want %v", r.Scenario, r.Lock, got, want)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	if out := page(t, Document{}); !strings.Contains(out, "Nothing was run.") {
		t.Error("an empty report does not say that nothing was run")
	}
}

func TestHeadline(t *testing.T) {
	broken := func(expected bool) results.Run {
		want := checker.OutcomeOK
		if expected {
			want = checker.Violated
		}
		return results.Run{AsExpected: expected, Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.Violated}},
			Expected: map[checker.Property]checker.Outcome{checker.Exclusion: want}}
	}
	good := results.Run{AsExpected: true, Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.OutcomeOK}}}
	failed := results.Run{Failure: "it span"}
	for want, runs := range map[string][]results.Run{
		"Nothing was run.": nil,
		"1 run, with every verdict as expected; exclusion was never seen violated.":                                {good},
		"2 runs, every verdict as expected; exclusion was violated in 1 of them, as the scenarios argue.":          {good, broken(true)},
		"3 runs: 1 not as expected, 1 unknown; exclusion was violated in 1 of them, which no scenario argues for.": {good, broken(false), failed},
		"1 run, with every verdict as expected; exclusion was violated, as the scenario argues.":                   {broken(true)},
	} {
		if got := (Document{Results: results.Results{Runs: runs}}).headline(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
