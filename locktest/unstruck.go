package locktest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
)

// unstruck is a scenario with a fault that cannot strike, and the reason.
type unstruck struct{ scenario, because string }

// CannotStrike leaves out a scenario with a fault that finds nothing to strike in
// this lock, and gives the reason. The scenario is still played. [Run] fails if all
// its faults strike after all, and if the lock violates something in it.
func CannotStrike(scenario, because string) Option {
	return func(o *options) error {
		if because == "" {
			return fmt.Errorf("CannotStrike(%q, \"\") needs the reason why the fault finds nothing to strike", scenario)
		}
		o.unstruck = append(o.unstruck, unstruck{scenario, because})
		return nil
	}
}

// checkUnstruck returns an error if an option is about a scenario that is not to be
// played.
func (o *options) checkUnstruck() error {
	if len(o.unstruck) == 0 {
		return nil
	}
	list, err := suite.Pick(o.scenarios)
	if err != nil {
		return err
	}
	for _, u := range o.unstruck {
		if !slices.ContainsFunc(list, func(s suite.Source) bool { return s.Scenario.Name == u.scenario }) {
			return fmt.Errorf("CannotStrike names %q, which is none of the scenarios to play", u.scenario)
		}
	}
	return nil
}

// leaveOut skips t if an option says that a fault of the run cannot strike, and
// fails it if the option is wrong.
func (r *runner) leaveOut(t *testing.T, run results.Run, played *play.Played) {
	t.Helper()
	for _, u := range r.options.unstruck {
		switch {
		case u.scenario != run.Scenario:
		case len(played.Missed()) == 0:
			t.Errorf("CannotStrike names %s, and with seed %d all its faults struck: remove the option (%q)", u.scenario, run.Seed, u.because)
		case !violates(run):
			reason := "a fault cannot strike: " + u.because
			r.skipped = append(r.skipped, results.Skip{Scenario: run.Scenario, Lock: run.Lock, User: run.User, Reason: reason})
			t.Skip(reason)
		}
	}
}

// violates reports whether a run failed, or shows an unexpected violation.
func violates(run results.Run) bool {
	return run.Failure != "" || slices.ContainsFunc(unexpected(run), func(p checker.Property) bool {
		return run.Verdicts[p].Outcome == checker.Violated
	})
}

// unstruckIn is the advice for a run with a fault that never struck, or "".
func unstruckIn(run results.Run, h *history.History) string {
	missed := (&play.Played{History: h}).Missed()
	if len(missed) == 0 {
		return ""
	}
	return fmt.Sprintf("if %s can find nothing to strike in this lock, use locktest.CannotStrike(%q, \"the reason\")\n", missed[0].Fault, run.Scenario)
}
