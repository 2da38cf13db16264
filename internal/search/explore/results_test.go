package explore_test

import (
	"math"
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

// The bound must be the one of Clopper and Pearson, about three in n.
func TestUpperBound(t *testing.T) {
	for n, want := range map[int]float64{0: 1, 1: 0.95, 10: 0.2589, 59: 0.0495, 100: 0.02951, 100_000: 2.9957e-5} {
		if got := explore.UpperBound(n); math.Abs(got-want) > 0.001*want+1e-9 {
			t.Errorf("after %d runs: %g, not %g", n, got, want)
		}
	}
}
