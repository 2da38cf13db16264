package cards

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports/results"
)

func run(scenario, lock string, violated ...checker.Property) results.Run {
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
	all := Of([]results.Run{
		run("crash-a", "setnx", checker.Progress, checker.Cleanup), run("crash-a", "good"), run("crash-b", "setnx"), run("crash-b", "good"),
		run("failover-a", "setnx", checker.Exclusion, checker.Progress), run("failover-a", "good", checker.ResourceSafe),
		run("clock-a", "setnx"),
	}, []string{"setnx", "good"}, []string{"crash", "clock", "failover"}, hazard)
	setnx, good := all[0], all[1]
	if len(setnx.Breaks) != 2 || setnx.Breaks[0].How != "two holders" || setnx.Breaks[1].Class != "stuck" || setnx.Breaks[1].Of != 2 {
		t.Errorf("setnx breaks: %+v", setnx.Breaks)
	}
	if !slices.Equal(setnx.Survives, []Survived{{"clock", 1}}) {
		t.Errorf("setnx survives %+v", setnx.Survives)
	}
	if !slices.Contains(setnx.Advice, "Crash: good holds where it breaks.") {
		t.Errorf("advice %q", setnx.Advice)
	}
	if len(good.Breaks) != 1 || good.Breaks[0].How != "lost updates" || !slices.Equal(good.Survives, []Survived{{"crash", 2}}) {
		t.Errorf("good: %+v", good)
	}
}

// An undecided hazard is not a survived one.
func TestUnknownIsNotSurvived(t *testing.T) {
	r := run("crash-a", "x")
	r.Verdicts[checker.Progress] = checker.Verdict{Outcome: checker.Unknown}
	c := Of([]results.Run{r}, []string{"x"}, []string{"crash"}, func(string) string { return "crash" })[0]
	if len(c.Survives) > 0 || !slices.Equal(c.Unknown, []string{"crash"}) {
		t.Errorf("%+v", c)
	}
}
