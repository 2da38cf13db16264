package reports

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
)

// twoResults are the same scenarios in both worlds. One pair agrees, one differs
// in a class, one differs in two properties, one has no judgement, and some were
// not played.
func twoResults() Fidelity {
	run := func(scenario, lock, world string, exclusion, progress checker.Verdict) results.Run {
		return results.Run{Scenario: scenario, Lock: lock, World: world, Seed: 1, AsExpected: true, Verdicts: map[checker.Property]checker.Verdict{
			checker.Exclusion: exclusion, checker.Progress: progress,
		}}
	}
	good := checker.Verdict{Outcome: checker.OutcomeOK}
	broken := checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken, Reason: "client-2 was granted the lock during the lease of client-1"}
	late := checker.Verdict{Outcome: checker.Violated, Class: checker.LeaseOutlived, Reason: "client-1 went on after its lease"}
	slow := checker.Verdict{Outcome: checker.Violated, Reason: "client-3 slept on a free lock | <for long>"}
	failed := results.Run{Scenario: "cluster-failover", Lock: "reentrant", World: "live", Failure: "start servers: node-2 is not ready\nits log"}
	return Fidelity{
		Sim: results.Results{Runs: []results.Run{
			run("contention", "reentrant", "sim", good, good), run("contention", "set-px", "sim", good, good),
			run("isolated-primary", "reentrant", "sim", broken, good), run("isolated-primary", "set-px", "sim", broken, good),
			run("cluster-failover", "reentrant", "sim", broken, good),
			run("clock-jump", "reentrant", "sim", broken, good), run("clock-jump", "set-px", "sim", broken, good),
			run("script-flush", "reentrant", "sim", good, good),
		}, Skipped: []results.Skip{
			{Scenario: "cluster-failover", Lock: "set-px", Reason: "needs a cluster client"}, {Scenario: "script-flush", Lock: "set-px", Reason: "has no scripts"},
		}},
		Live: results.Results{Runs: []results.Run{
			run("contention", "reentrant", "live", good, good), run("contention", "set-px", "live", good, slow),
			run("isolated-primary", "reentrant", "live", late, good), run("isolated-primary", "set-px", "live", good, slow),
			failed,
		}, Skipped: []results.Skip{
			{Scenario: "cluster-failover", Lock: "set-px", Reason: "needs a cluster client"}, {Scenario: "script-flush", Lock: "set-px", Reason: "has no scripts"},
			{Scenario: "clock-jump", Lock: "reentrant", Reason: "not run: there is no C compiler"}, {Scenario: "clock-jump", Lock: "set-px", Reason: "not run: there is no C compiler"},
		}},
		About: []About{{Name: "isolated-primary"}},
		Explained: map[string]string{
			"isolated-primary/reentrant/exclusion": "Sentinel takes longer than the lease. Both are right.",
			"isolated-primary/set-px/exclusion":    "As above.",
			"contention/reentrant/exclusion":       "This was mended.",
		},
	}
}

func TestFidelity(t *testing.T) {
	f := twoResults()
	var text, md, none bytes.Buffer
	must.Succeed(t, f.Text(&text))
	must.Succeed(t, f.Markdown(&md))
	must.Succeed(t, (Fidelity{}).Text(&none))
	golden(t, "fidelity.txt", text.Bytes())
	golden(t, "fidelity.md", md.Bytes())
	if got, want := none.String(), "0 pairs of scenario and lock in both worlds: 0 agree, 0 differ and are explained, 0 differ unexplained; 0 in the simulator only\n"; got != want {
		t.Errorf("nothing at all: %q", got)
	}
}

// Each difference is listed on its own, and an explanation belongs to one
// difference.
func TestDifferences(t *testing.T) {
	got := map[string]bool{} // explained?
	for _, d := range twoResults().differences() {
		got[d.key()] = d.Explanation != ""
	}
	want := map[string]bool{
		"isolated-primary/reentrant/exclusion": true, "isolated-primary/set-px/exclusion": true, "isolated-primary/set-px/progress": false,
		"contention/set-px/progress": false, "cluster-failover/reentrant/run": false,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// Two worlds do not agree on a run that neither could judge.
func TestFailuresNeverAgree(t *testing.T) {
	r := results.Run{Scenario: "contention", Lock: "reentrant", Failure: "no"}
	f := Fidelity{Sim: results.Results{Runs: []results.Run{r}}, Live: results.Results{Runs: []results.Run{r}}}
	if d := f.differences(); len(d) != 1 || d[0].Property != "run" {
		t.Errorf("got %+v", d)
	}
}

// Names and reasons from outside stay within their table cells.
func TestHostileFidelity(t *testing.T) {
	d := hostileDocument().Results
	f := Fidelity{Sim: d, Live: results.Results{Runs: d.Runs[:4]}, Explained: map[string]string{}}
	for i := range f.Live.Runs {
		r := &f.Live.Runs[i]
		r.Failure, r.Verdicts = "", map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.OutcomeOK}}
	}
	for _, s := range hostile {
		f.Explained[s+"/"+s+"/exclusion"] = s
		f.Explained[s] = s
	}
	var text, md bytes.Buffer
	must.Succeed(t, f.Text(&text))
	must.Succeed(t, f.Markdown(&md))
	checkText(t, text.Bytes())
	checkText(t, md.Bytes())
	if strings.Contains(md.String(), "<script") || strings.Contains(md.String(), "<img") {
		t.Error("markup got in")
	}
}
