package selftest

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// The correct lock, played as a mutant of itself, breaks promises under faults
// that no lock survives. None of these violations may count as a find.
func TestTheCorrectLockIsNeverFound(t *testing.T) {
	logging.Disable()
	m, ok := gallery.Find("release-tells-nobody")
	if !ok {
		t.Fatal("the mutant is gone")
	}
	originals, err := locks.Originals(m)
	must.Succeed(t, err)
	v, err := draw.NewVocabulary(nil, nil, false)
	must.Succeed(t, err)
	violated := 0
	for seed := range uint64(25) {
		for _, innocent := range originals {
			s, err := draw.Scenario(innocent, seed, v, nil)
			must.Succeed(t, err)
			run := results.Run{Seed: seed}
			still := func(run func()) { run() }
			if seen, _, err := explore.PlayObserved(&run, s, innocent, still); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			} else if seen.Cause != nil {
				violated++
			}
			b := differential{scenario: s, seed: seed, mutant: innocent, originals: originals, guard: still}
			must.Succeed(t, b.keepMistakes(run.Verdicts))
			for p, v := range run.Verdicts {
				t.Errorf("%s: %s %s", s.Name, p, v.Reason)
			}
		}
	}
	if violated == 0 {
		t.Error("nothing was violated in any run, so nothing was tried")
	}
}

func TestWhatAnOriginalShowsIsNoFind(t *testing.T) {
	outlived := checker.Verdict{Outcome: checker.Violated, Class: checker.LeaseOutlived}
	broken := checker.Verdict{Outcome: checker.Violated, Class: checker.ContractBroken}
	for _, tt := range []struct {
		name             string
		original, mutant checker.Verdict
		shows            bool
	}{
		{"the original keeps its promise", checker.Verdict{Outcome: checker.OutcomeOK}, broken, false},
		{"both break the contract", broken, broken, true},
		{"only the mutant breaks the contract", outlived, broken, false},
		{"the mutant does better", broken, outlived, true},
		{"nobody knows of the original", checker.Verdict{Outcome: checker.Unknown}, broken, true},
		{"the original was not judged", checker.Verdict{}, broken, true},
	} {
		if got := shows(tt.original, tt.mutant); got != tt.shows {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
