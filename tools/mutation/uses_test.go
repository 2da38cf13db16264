package main

import (
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/tools/mutation/uses"
)

// The further uses keep their claims. Otherwise a use is broken, and no mutant that it
// reaches is killed for its own mistake. A forced release asks for no owner, and nothing
// repeats it.
func TestTheUsesKeepTheirClaims(t *testing.T) {
	broken := []string{"reentrant-force/cancelled-release", "reentrant-force/lost-release-reply", "reentrant-force/down-at-release"}
	_, further, err := options{Locks: uses.Names()}.pickLocks()
	must.Succeed(t, err)
	jobs, err := catalogueJobs(nil, further, 1)
	must.Succeed(t, err)
	for _, j := range jobs {
		j.Judge = true
		name := j.Lock + "/" + j.Scenario
		t.Run(name, func(t *testing.T) {
			var a suite.Answer
			a.Play(j, func(play func()) { play() }, j.Simulate)
			if a.Defect != "" || a.Run.AsExpected == slices.Contains(broken, name) {
				t.Errorf("as expected: %v; %s %+v", a.Run.AsExpected, a.Defect, a.Run.Verdicts)
			}
		})
	}
}
