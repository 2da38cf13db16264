package suite

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// thirdParty is a lock of somebody else's with these claims.
func thirdParty(t *testing.T, c history.Claims) *locks.Lock {
	t.Helper()
	l, err := locks.NewThirdParty(locks.Description{Name: "mine", Claims: c}, nil)
	must.Succeed(t, err)
	return l
}

// A lock that is not built in is played with both kinds of user, whose runs must
// not take each other's place; built-in locks as their scenarios say.
func TestPlanUsers(t *testing.T) {
	list, err := Pick([]string{"contention"})
	must.Succeed(t, err)
	builtIn, err := locks.Find("reentrant")
	must.Succeed(t, err)
	mine := thirdParty(t, history.Claims{Lease: true})
	for _, c := range []struct {
		choice string
		lock   *locks.Lock
		want   []string
	}{
		{BothUsers, mine, []string{"", history.Careful}},
		{history.Careful, mine, []string{history.Careful}},
		{history.Careless, mine, []string{""}},
		{BothUsers, builtIn, []string{""}},
	} {
		jobs, skipped := planned(t, list, c.lock, c.choice)
		if len(skipped) != 0 || len(jobs) != len(c.want) {
			t.Fatalf("%s, %s: %d jobs, skipped %v", c.lock.Name(), c.choice, len(jobs), skipped)
		}
		paths := map[string]bool{}
		for i, j := range jobs {
			if j.User != c.want[i] || j.Seed != 1 {
				t.Errorf("%s, %s: job %d has user %q and seed %d", c.lock.Name(), c.choice, i, j.User, j.Seed)
			}
			paths[HistoryPath(j.Scenario, j.Lock, j.Seed, j.User)] = true
		}
		if len(paths) != len(jobs) {
			t.Errorf("two runs have one history: %v", paths)
		}
	}
}

// planned are the runs of scenarios with a lock, and what is skipped.
func planned(t *testing.T, list []Source, l *locks.Lock, users string) ([]Job, []results.Skip) {
	t.Helper()
	p := Plan{Options: Options{World: Sim{}, Seeds: 1, Users: users}}
	for _, s := range list {
		must.Succeed(t, p.Add(s, []*locks.Lock{l}, 1))
	}
	return p.Jobs, p.Skipped
}

// The plan says that a lock has no careful user. It also says so where such a user would
// wait for nothing that a fault could strike.
func TestPlanWithoutCarefulUser(t *testing.T) {
	for scenario, claims := range map[string]history.Claims{
		"contention":       {},
		"cancelled-try":    {Lease: true, Waits: true, Cancels: true},
		"paused-waiters":   {Lease: true, Waits: true, Messages: true},
		"cut-off-waiters":  {Lease: true, Waits: true, Messages: true},
		"broken-subscribe": {Lease: true, Waits: true, Messages: true},
	} {
		list, err := Pick([]string{scenario})
		must.Succeed(t, err)
		jobs, skipped := planned(t, list, thirdParty(t, claims), BothUsers)
		if len(jobs) != 1 || jobs[0].User != "" || len(skipped) != 1 || skipped[0].User != history.Careful || skipped[0].Reason == "" {
			t.Errorf("%s: jobs %v, skipped %v", scenario, jobs, skipped)
		}
	}
}
