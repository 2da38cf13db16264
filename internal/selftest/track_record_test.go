package selftest

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker"
)

// One killed mutant and one with open trials do not make 100 %.
func TestNoMutationScoreBeforeTheEnd(t *testing.T) {
	hit := &hunt{kills: map[killer]int{{"contention", checker.Exclusion}: 1}}
	if r := newTrackRecord("", []*hunt{hit}); r.Summary.Score == nil || *r.Summary.Score != 1 {
		t.Errorf("all killed: %+v", r.Summary)
	}
	if r := newTrackRecord("", []*hunt{hit, {trials: []*huntTrial{{given: 1}}}}); r.Summary.Killed != 1 || r.Summary.Score != nil {
		t.Errorf("one is open: %+v", r.Summary)
	}
}
