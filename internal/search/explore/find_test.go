package explore_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// tallyRuns plays so many drawn runs with a lock.
func tallyRuns(t *testing.T, lock string, v draw.Vocabulary, runs uint64) explore.Results {
	t.Helper()
	logging.Disable()
	l, err := locks.Find(lock)
	must.Succeed(t, err)
	tally := explore.NewTally(explore.Results{Vocabulary: v})
	for seed := range runs {
		s, err := draw.Scenario(l, seed, v, nil)
		must.Succeed(t, err)
		p, err := play.Simulate(s, l, seed, "")
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		judged, err := checker.Judge(p.Judged(), checker.Options{})
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		tally.Add(seed, explore.Observe(s, p.History, judged.Verdicts))
	}
	return tally.Finish()
}

// It must find the two textbook hazards of the simple lock without a hint. They are a
// failover that loses the grant, and a pause past the lease.
func TestExploreFindsWhatTheTextbooksSay(t *testing.T) {
	if testing.Short() {
		t.Skip("plays several hundred runs")
	}
	r := tallyRuns(t, "set-px-lua", vocabulary(t, false), 400)
	found := func(class, fault string) bool {
		return slices.ContainsFunc(explore.Distinct(r.Causes), func(c explore.Found) bool {
			return c.Property == checker.Exclusion && c.Class == class && slices.ContainsFunc(c.Faults, func(f string) bool {
				return f == fault || f == fault+"-isolate" || f == fault+"-planned"
			})
		})
	}
	if !found(checker.LeaseOutlived, "pause") || !found(checker.ContractBroken, "failover") {
		t.Errorf("a pause past the lease and a lost replication are not among %d causes:", len(r.Causes))
		for _, c := range explore.Distinct(r.Causes) {
			t.Logf("%4d  %s", c.Count, c.Cause)
		}
	}
}

// The reference lock must survive the survivable faults. A long run of this is holdfast
// explore --lock reentrant --survivable --runs 100000 --time 2h.
func TestExploreSurvivable(t *testing.T) {
	if testing.Short() {
		t.Skip("plays several hundred runs")
	}
	r := tallyRuns(t, "reentrant", vocabulary(t, true), 500)
	for _, c := range r.Causes {
		t.Errorf("seed %d: %s", c.FirstSeed, c.Cause)
	}
	if r.Runs-r.Unknown < 460 {
		t.Errorf("of %d runs %d proved nothing: %v", r.Runs, r.Unknown, r.Reasons)
	}
}
