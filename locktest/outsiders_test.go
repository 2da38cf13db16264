package locktest

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/cross"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

var (
	outsiderFirst    = flag.Uint64("outsiders.first", 1, "the first of these seeds")
	outsiderSeeds    = flag.Int("outsiders.seeds", 1, "how many seeds the right locks of testdata/locks are played with")
	outsiderExplored = flag.Int("outsiders.explored", 20, "how many scenarios the right locks are explored with")
	outsiderCrossed  = flag.Int("outsiders.crossed", 200, "how many crossed workloads the right locks are played with")
	outsiderOut      = flag.String("outsiders.out", "", "a directory to write every history to")
	outsiderIn       = flag.String("outsiders.in", "", "the scenarios and files to play in the place of the catalogue, with commas")
	outsiderRun      = flag.Bool("outsiders.run", false, "play what a user's test plays, with every mutant and with its original")
	outsiderAll      = flag.Bool("outsiders.all", false, "play every mutant in every scenario, and print which properties tell it")
)

// verdicts plays a lock in a scenario with each kind of user, and returns what is
// not as expected, by property; played is false where the scenario is not about
// such a lock.
func verdicts(t *testing.T, l Lock, s *scenarios.Scenario, seed uint64) (wrong map[string]string, played bool) {
	t.Helper()
	tested, err := l.forScenarios()
	must.Succeed(t, err)
	if ok, _ := s.Applies(tested); !ok {
		return nil, false
	}
	wrong = map[string]string{}
	users, _ := suite.UsersOf(s, tested, suite.BothUsers)
	for _, user := range users {
		by := s.PlayedBy(user)
		j := suite.Job{Scenario: s.Name, Lock: tested.Name(), Seed: seed, User: user, Judge: true}
		if *outsiderOut != "" {
			j.History = filepath.Join(*outsiderOut, fmt.Sprintf("%s-%s-%s-%d.jsonl", s.Name, tested.Name(), user, seed))
		}
		r := j.Run("sim")
		p, err := j.Once(&r, by, tested, func() (*play.Played, error) { return play.Simulate(by, tested, seed, "test") })
		if err != nil {
			t.Fatalf("%s with %s, seed %d: %v", s.Name, l.Name, seed, err)
		}
		if nothing, _ := play.NothingToStrike(by, tested, p); nothing {
			return nil, false
		}
		for p, v := range r.Verdicts {
			if !r.Matches(p) {
				wrong[string(p)] = fmt.Sprintf("%s %s%s: %s", user, v.Outcome, v.Class, v.Reason)
			}
		}
		if r.Failure != "" {
			wrong["failure"] = r.Failure
		}
	}
	return wrong, true
}

// A lock that is right is never accused of anything.
func TestRightLocks(t *testing.T) {
	logging.Disable()
	every := nightly.Every(3) // the next lock is played in other scenarios
	if *outsiderIn != "" {
		every = 1
	}
	for i, o := range outsiders {
		l := o.lock("")
		t.Run(l.Name, func(t *testing.T) {
			said := map[string]int{}
			for n, s := range catalogue(t) {
				if (n+i)%every != 0 {
					continue
				}
				for k := range uint64(*outsiderSeeds) {
					seed := *outsiderFirst + k
					wrong, _ := verdicts(t, l, s, seed)
					for p, v := range wrong {
						if key := s.Name + " " + p; said[key] == 0 {
							t.Errorf("%s, seed %d: %s %s", s.Name, seed, p, v)
						}
						said[s.Name+" "+p]++
					}
				}
			}
			for key, n := range said {
				t.Logf("%s: %d of %d seeds", key, n, *outsiderSeeds)
			}
		})
	}
}

// Nor is it in scenarios that are drawn at random.
func TestRightLocksExplored(t *testing.T) {
	runs := *outsiderExplored / nightly.Every(3)
	if testing.Short() {
		runs = 2
	}
	for _, o := range outsiders {
		l := o.lock("")
		t.Run(l.Name, func(t *testing.T) { Explore(t, l, Runs(runs)) })
	}
}

// A drawn scenario loads for a lock on several servers, whether or not a built-in lock with
// the same claims has as many.
func TestExploreNamesThePrimaries(t *testing.T) {
	t.Setenv("HOLDFAST_SEED", "800009") // a fault of node-3
	Explore(t, majorityLock(""), Runs(1))
}

// Nor in crossed workloads.
func TestRightLocksCrossed(t *testing.T) {
	rows := *outsiderCrossed / nightly.Every(4)
	if testing.Short() {
		rows = 10
	}
	for _, o := range outsiders {
		l := o.lock("")
		t.Run(l.Name, func(t *testing.T) {
			l.misuse = new(misuse)
			r := newRunner(t, l, nil)
			r.playCrossed(t, cross.New(r.tested, 1, rows/r.tested.Groups), l.Known)
		})
	}
}

// Nor in small scenarios, in each of which some right lock once was.
func TestRightLocksInFiles(t *testing.T) {
	logging.Disable()
	paths, err := filepath.Glob("testdata/right/*.yaml")
	must.Succeed(t, err)
	for _, path := range paths {
		s, err := scenarios.Load(path)
		must.Succeed(t, err)
		for _, o := range outsiders {
			l := o.lock("")
			if l.Claims.TakesBack && s.Name == "late-request-of-the-same-owner" {
				continue // it promises more than it can keep without a record on the server
			}
			for seed := range uint64(10) {
				wrong, _ := verdicts(t, l, s, 1+seed)
				for p, v := range wrong {
					t.Errorf("%s, %s, seed %d: %s %s", s.Name, l.Name, 1+seed, p, v)
				}
			}
		}
	}
}

// Each mistake is reported, with the property that it violates.
func TestFaultyLocks(t *testing.T) {
	logging.Disable()
	for _, o := range outsiders {
		t.Run(o.lock("").Name, func(t *testing.T) {
			if *outsiderRun {
				t.Run("right", func(t *testing.T) { Run(t, o.lock("")) })
			}
			for i, m := range o.mistakes {
				if testing.Short() && i > 1 {
					break
				}
				t.Run(m.name, func(t *testing.T) {
					if *outsiderRun {
						Run(t, o.lock(m.name))
						return
					}
					if *outsiderAll {
						told := everywhere(t, o.lock(m.name))
						t.Log(told)
						if survives := told == survived; survives != (m.gap != "") {
							t.Errorf("is said to survive: %t, and survives: %t", m.gap != "", survives)
						}
						return
					}
					if m.gap != "" {
						t.Logf("survives: %s", m.gap)
						return
					}
					s, err := scenarios.Find(m.in)
					must.Succeed(t, err)
					wrong, played := verdicts(t, o.lock(m.name), s, 1)
					switch {
					case !played:
						t.Errorf("%s is not played", m.in)
					case wrong[m.property] == "":
						t.Errorf("%s does not show that %s is violated, but %v", m.in, m.property, wrong)
					}
				})
			}
		})
	}
}

const survived = "survived"

// everywhere plays a mutant in the whole catalogue, and says which scenarios tell
// which properties.
func everywhere(t *testing.T, l Lock) string {
	told := map[string][]string{}
	for _, s := range catalogue(t) {
		for seed := range uint64(*outsiderSeeds) {
			wrong, _ := verdicts(t, l, s, 1+seed)
			for p := range wrong {
				if !slices.Contains(told[p], s.Name) {
					told[p] = append(told[p], s.Name)
				}
			}
		}
	}
	if len(told) == 0 {
		return survived
	}
	var b strings.Builder
	b.WriteString("killed")
	for _, p := range slices.Sorted(maps.Keys(told)) {
		fmt.Fprintf(&b, "; %s: %s", p, strings.Join(told[p], " "))
	}
	return b.String()
}

// catalogue are the scenarios to play.
func catalogue(t *testing.T) []*scenarios.Scenario {
	if testing.Short() { // the race detector looks at how locks are played, not at each of them
		*outsiderIn = "contention,failover-lost-write"
	}
	if *outsiderIn == "" {
		return scenarios.Catalogue()
	}
	var some []*scenarios.Scenario
	for name := range strings.SplitSeq(*outsiderIn, ",") {
		find := scenarios.Find
		if suite.IsFile(name) {
			find = scenarios.Load
		}
		s, err := find(name)
		must.Succeed(t, err)
		some = append(some, s)
	}
	return some
}
