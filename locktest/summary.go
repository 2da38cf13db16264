package locktest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
)

// trouble is one way in which runs went wrong, whatever the clients and times.
type trouble struct {
	what    string // "exclusion violated (contract broken)"
	example string // the reason of the first run
	in      []string
}

// troubles are the failures of a test, in the order in which they were found.
type troubles []*trouble

// particular matches the differences between two runs that go wrong in the same way.
var particular = regexp.MustCompile(`client-\d+(/\d+)?|node-\d+(-replica-\d+)?|\d+(\.\d+)? ?(s|ms|µs)\b|\d+|of "[^"]*"`)

// add counts a subtest in which something went wrong.
func (all *troubles) add(what, reason, subtest string) {
	alike := func(s string) string { return particular.ReplaceAllString(s, "_") }
	i := slices.IndexFunc(*all, func(t *trouble) bool { return t.what == what && alike(t.example) == alike(reason) })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &trouble{what: what, example: reason})
	}
	if t := (*all)[i]; !slices.Contains(t.in, subtest) {
		t.in = append(t.in, subtest)
	}
}

// mostNamed is the number of subtests that a summary names for each cause.
const mostNamed = 4

// summarize says at the end what went wrong, once for each cause, the most frequent
// first.
func (r *runner) summarize(t *testing.T) {
	t.Helper()
	wrong := map[string]bool{}
	for _, cause := range r.troubles {
		for _, name := range cause.in {
			wrong[name] = true
		}
	}
	if len(wrong) < 2 {
		return // the subtest has just reported it
	}
	byCount := slices.Clone(r.troubles)
	slices.SortStableFunc(byCount, func(a, b *trouble) int { return cmp.Compare(len(b.in), len(a.in)) })
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the %s that were played went wrong:", len(wrong), english.Count(len(r.tests), "subtest"))
	for _, cause := range byCount {
		named, more := cause.in, ""
		if n := len(named) - mostNamed; n > 0 {
			named, more = named[:mostNamed], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(&b, "\n%s in %d: %s%s\n    such as: %s", cause.what, len(cause.in), strings.Join(named, ", "), more, cause.example)
	}
	t.Log(b.String())
}

// counted says how much was played, and what was not and why.
func (r *runner) counted(t *testing.T, res results.Results) {
	t.Helper()
	chosen, played := map[string]bool{}, map[string]bool{}
	for _, j := range r.jobs {
		chosen[j.Scenario] = true
	}
	for _, run := range res.Runs {
		played[run.Scenario] = true
	}
	var reasons []string
	names := map[string][]string{} // of scenarios that were not played, by the reason
	other := map[string]bool{}
	for _, s := range res.Skipped {
		chosen[s.Scenario] = true
		if s.User != "" {
			continue
		}
		other[s.Scenario] = true
		if !slices.Contains(reasons, s.Reason) {
			reasons = append(reasons, s.Reason)
		}
		if !slices.Contains(names[s.Reason], s.Scenario) {
			names[s.Reason] = append(names[s.Reason], s.Scenario)
		}
	}
	if len(other) == 0 {
		return
	}
	if len(other) == len(chosen) {
		t.Errorf("none of the scenarios applies to the lock: %s", res.Skipped[0].Reason)
	}
	unselected := ""
	if n := len(chosen) - len(other) - len(played); n > 0 {
		unselected = fmt.Sprintf("; not selected: %d", n) // by -run
	}
	var b strings.Builder
	for _, reason := range reasons {
		fmt.Fprintf(&b, "\nnot played: %s: %s", reason, strings.Join(names[reason], ", "))
	}
	t.Logf("%s chosen: %d were played, as %s, one for each kind of user%s; left out: %d%s",
		english.Count(len(chosen), "scenario"), len(played), english.Count(len(r.tests), "subtest"), unselected, len(other), b.String())
}

// outdated fails the test for each violation that the lock is known for and that no
// run shows any more. It asks only where all runs of that scenario were played, with
// both kinds of user and from the first seed on.
func (r *runner) outdated(t *testing.T, known []Known) {
	t.Helper()
	if r.options.users != suite.BothUsers || r.options.seed != 1 {
		return
	}
	for _, k := range suite.Gone(known, r.runs) {
		planned, played := 0, 0
		for _, j := range r.jobs {
			if j.Scenario == k.Scenario {
				planned++
			}
		}
		for _, run := range r.runs {
			if run.Scenario == k.Scenario {
				played++
			}
		}
		if planned > 0 && played == planned {
			t.Errorf("Known has %s in %s, and no run shows that any more: remove the entry (%q)", k.Property, k.Scenario, k.Because)
		}
	}
}

// note keeps what is wrong with a run for the summary.
func (r *runner) note(subtest string, run results.Run) {
	if run.Failure != "" {
		r.troubles.add("failure", run.Failure, subtest)
	}
	for _, l := range wrongLines(run) {
		r.troubles.add(english.And(l.names)+" "+l.what, l.reason, subtest)
	}
}
