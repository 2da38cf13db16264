package reports

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/results"
)

// notRun is how the reason of a skip begins when the scenario does apply to
// the lock, and this world or this machine cannot play it.
const notRun = "not run: "

// cannot is why a pair could not be played; ok is false for one that does not
// apply.
func cannotRun(s *results.Skip) (reason string, ok bool) {
	if reason, ok = strings.CutPrefix(s.Reason, notRun); !ok {
		return "", false
	}
	return clean(reason), true
}

// unplayed are pairs of scenario and lock that were not played for one reason.
type unplayed struct {
	Reason    string
	Scenarios []string
	Locks     []string // those that each of the scenarios was not played with
	every     bool     // they are all that the scenarios apply to, and more than one
}

// With names the locks in words.
func (u *unplayed) With() string {
	if u.every {
		return "any lock"
	}
	return english.And(u.Locks)
}

// unplayed groups what could not be played: by reason, then by the locks.
func (m *matrix) unplayed() []unplayed {
	return joinScenarios(m.scenarios, m.unplayedIn)
}

// unplayedIn groups the locks of one scenario by reason.
func (m *matrix) unplayedIn(scenario string) []unplayed {
	return groupLocks(scenario, m.locks, func(lock string) (reason string, applies bool) {
		c := m.cell(scenario, lock)
		if c.mark() != markSkipped {
			return "", c != nil
		}
		return cannotRun(c.skip)
	})
}

// groupLocks groups the locks of a scenario by the reason why they were not
// played. why has no reason for those that were.
func groupLocks(scenario string, locks []string, why func(lock string) (reason string, applies bool)) []unplayed {
	var out []unplayed
	apply := 0
	for _, l := range locks {
		reason, applies := why(l)
		if applies {
			apply++
		}
		if reason == "" {
			continue
		}
		i := slices.IndexFunc(out, func(o unplayed) bool { return o.Reason == reason })
		if i < 0 {
			i = len(out)
			out = append(out, unplayed{Reason: reason, Scenarios: []string{name(scenario)}})
		}
		out[i].Locks = append(out[i].Locks, name(l))
	}
	for i := range out {
		out[i].every = apply > 1 && len(out[i].Locks) == apply
	}
	return out
}

// joinScenarios puts scenarios that were not played with the same locks for
// the same reason together.
func joinScenarios(scenarios []string, in func(scenario string) []unplayed) []unplayed {
	var out []unplayed
	for _, s := range scenarios {
		for _, u := range in(s) {
			i := slices.IndexFunc(out, func(o unplayed) bool { return o.Reason == u.Reason && o.With() == u.With() })
			if i < 0 {
				out = append(out, u)
				continue
			}
			out[i].Scenarios = append(out[i].Scenarios, u.Scenarios...)
		}
	}
	return out
}
