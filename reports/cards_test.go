package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports/results"
)

func cardRun(scenario, lock string, violated ...checker.Property) results.Run {
	r := results.Run{Scenario: scenario, Lock: lock, Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: checker.OutcomeOK}}}
	for _, p := range violated {
		r.Verdicts[p] = checker.Verdict{Outcome: checker.Violated, Class: map[bool]string{true: checker.ContractBroken}[p == checker.Exclusion]}
	}
	return r
}

// A lock that deadlocks must not look like the best one. Its card says that it
// gets stuck, and names the locks that do not.
func TestALockThatGetsStuckDoesNotSurvive(t *testing.T) {
	hazard := func(s string) string { return strings.SplitN(s, "-", 2)[0] }
	all := newTally([]results.Run{
		cardRun("crash-a", "setnx", checker.Progress, checker.Cleanup), cardRun("crash-a", "good"), cardRun("crash-b", "setnx"), cardRun("crash-b", "good"),
		cardRun("failover-a", "setnx", checker.Exclusion, checker.Progress), cardRun("failover-a", "good", checker.ResourceSafe),
		cardRun("clock-a", "setnx"),
	}, hazard).cards([]string{"setnx", "good"}, []string{"crash", "clock", "failover"})
	setnx, good := all[0], all[1]
	if len(setnx.breaks) != 2 || setnx.breaks[0].harm != checker.TwoHolders || setnx.breaks[1].harm != checker.Deadlock {
		t.Errorf("setnx breaks: %+v", setnx.breaks)
	}
	if !slices.Equal(setnx.survives, []string{"clock"}) {
		t.Errorf("setnx survives %+v", setnx.survives)
	}
	if !slices.Contains(setnx.advice, "Crash: good holds where it breaks.") {
		t.Errorf("advice %q", setnx.advice)
	}
	if len(good.breaks) != 1 || good.breaks[0].harm != checker.LostUpdates || !slices.Equal(good.survives, []string{"crash"}) {
		t.Errorf("good: %+v", good)
	}
}

// An undecided hazard is not a survived one.
func TestUnknownIsNotSurvived(t *testing.T) {
	r := cardRun("crash-a", "x")
	r.Verdicts[checker.Progress] = checker.Verdict{Outcome: checker.Unknown}
	c := newTally([]results.Run{r}, func(string) string { return "crash" }).cards([]string{"x"}, []string{"crash"})[0]
	if len(c.survives) > 0 || !slices.Equal(c.unknown, []string{"crash"}) {
		t.Errorf("%+v", c)
	}
}
