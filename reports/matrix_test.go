package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports/results"
)

// A run that proves nothing has the same reason for every property. A list with a row for
// each of them hides the other runs.
func TestUndecidedPropertiesOfARunAreOneFinding(t *testing.T) {
	r := &results.Run{Verdicts: map[checker.Property]checker.Verdict{}, Expected: map[checker.Property]checker.Outcome{}}
	few, cut := checker.Verdict{Outcome: checker.Unknown, Reason: "only 2 grants"}, checker.Verdict{Outcome: checker.Unknown, Reason: "the log was cut off"}
	for p, v := range map[checker.Property]checker.Verdict{
		checker.Exclusion: few, checker.Lease: few, checker.Errors: few, checker.Cleanup: cut,
		checker.Progress: {Outcome: checker.Violated, Reason: "it sleeps"},
	} {
		r.Verdicts[p], r.Expected[p] = v, checker.OutcomeOK
	}
	var got []string
	for _, f := range together(findingsOf(r)) {
		got = append(got, f.property+": "+f.reason+"; "+f.alsoWords())
	}
	want := []string{"exclusion: only 2 grants; the same for lease and errors", "progress: it sleeps; ", "cleanup: the log was cut off; "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
