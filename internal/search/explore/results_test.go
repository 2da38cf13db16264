package explore_test

import (
	"slices"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/explore"
)

func caused(faults ...string) search.Cause {
	return search.Cause{Property: checker.Exclusion, Class: checker.LeaseOutlived, Faults: faults}
}

// Runs in which more faults struck than were needed are the same find, in
// whatever order they come.
func TestCausesAreFolded(t *testing.T) {
	other := search.Cause{Property: checker.Progress, Faults: []string{"delay", "pause"}}
	seen := []search.Cause{caused("crash", "pause"), caused("pause"), other, caused("crash", "delay", "pause"), caused("crash", "reset"), caused("pause")}
	for range seen {
		seen = append(seen[1:], seen[0])
		tally := explore.NewTally(explore.Results{})
		for i, c := range seen {
			tally.Add(uint64(10+i), explore.Seen{Cause: &c})
		}
		r := tally.Finish()
		var keys []string
		counts := 0
		for _, f := range explore.Distinct(r.Causes) {
			keys = append(keys, f.Key)
			counts += f.Count
		}
		slices.Sort(keys)
		want := []string{"exclusion_lease-outlived_crash_reset", "exclusion_lease-outlived_pause", "progress_delay_pause"}
		if !slices.Equal(keys, want) || counts != len(seen) || r.Violated != len(seen) || len(r.Causes) != 5 {
			t.Fatalf("%v: %v, %d runs of %d", seen, keys, counts, r.Violated)
		}
	}
}
