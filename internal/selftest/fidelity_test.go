package selftest

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func compared(t *testing.T, sim, live checker.Outcome) (explained bool) {
	t.Helper()
	world := func(name string, o checker.Outcome) results.Results {
		return results.Results{Runs: []results.Run{{Scenario: "contention", Lock: "set-px", World: name, Seed: 1,
			Verdicts: map[checker.Property]checker.Verdict{checker.Exclusion: {Outcome: o}}}}}
	}
	f, err := Compare(world("sim", sim), world("live", live), nil)
	must.Succeed(t, err)
	return f.AllExplained()
}

// A difference without an explanation must end the command with an error.
func TestADifferenceNeedsAnExplanation(t *testing.T) {
	if !compared(t, checker.OutcomeOK, checker.OutcomeOK) {
		t.Error("worlds that agree: something is not explained")
	}
	if compared(t, checker.OutcomeOK, checker.Violated) {
		t.Error("worlds that differ: everything is explained")
	}
}

// A report would never print an explanation under an unknown name.
func TestKnownDifferencesNameScenariosAndLocks(t *testing.T) {
	f, err := Compare(results.Results{}, results.Results{}, nil)
	must.Succeed(t, err)
	for key, why := range f.Explained {
		parts := strings.Split(key, "/")
		if len(parts) != 3 || why == "" {
			t.Errorf("%q: want scenario/lock/property and a paragraph", key)
			continue
		}
		if _, err := scenarios.Find(parts[0]); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := locks.Find(parts[1]); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
