package scenarios

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A known violation must not hide another one of the same property.
func TestAKnownViolationForgivesThatOneAlone(t *testing.T) {
	l, err := locks.NewThirdParty(locks.Description{Name: "mine", Claims: history.Claims{Lease: true}, Known: []locks.Known{
		{Scenario: "holder-pause", Property: checker.Exclusion, Class: checker.LeaseOutlived, Because: "#1"},
	}}, nil)
	must.Succeed(t, err)
	s, err := Find("holder-pause")
	must.Succeed(t, err)
	e := s.Expected(l)[checker.Exclusion]
	for class, want := range map[string]bool{checker.LeaseOutlived: true, checker.ContractBroken: false} {
		if got := e.Met(checker.Exclusion, checker.Verdict{Outcome: checker.Violated, Class: class}); got != want {
			t.Errorf("%s is as expected: %t, want %t", class, got, want)
		}
	}
}
