package reports

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// cannotRun is the reason for which this world or machine could not play a pair; ok is false if
// the scenario does not apply.
func cannotRun(s *results.Skip) (reason string, ok bool) {
	if reason, ok = strings.CutPrefix(s.Reason, results.NotRun); !ok {
		return "", false
	}
	return english.Clean(reason), true
}

// unplayed are pairs of scenario and lock that were not played, for one reason.
type unplayed struct {
	Reason    string
	Scenarios []string
	Locks     []string // the locks that the machine could not play in any of the scenarios
	every     bool     // the scenarios apply to no other locks, and to more than one
}

// With names the locks of unplayed pairs.
func (u *unplayed) With() string {
	if u.every {
		return "any lock"
	}
	return english.And(u.Locks)
}

// unplayed groups unplayed pairs by reason, then by locks.
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

// inapplicableTo groups the locks that a scenario does not apply to by reason.
func (m *matrix) inapplicableTo(scenario string) []unplayed {
	return groupLocks(scenario, m.locks, func(lock string) (reason string, applies bool) {
		c := m.cell(scenario, lock)
		if c.mark() != markSkipped {
			return "", false
		}
		if _, cannot := cannotRun(c.skip); cannot {
			return "", false
		}
		return english.Clean(c.skip.Reason), true
	})
}

// empty reports whether a scenario applies to no lock.
func (m *matrix) empty(scenario string) bool {
	return !slices.ContainsFunc(m.locks, func(lock string) bool {
		c := m.cell(scenario, lock)
		if c.mark() != markSkipped {
			return c != nil
		}
		_, cannot := cannotRun(c.skip)
		return cannot
	})
}

// leftOut groups the scenarios that apply to no lock by reason.
func (m *matrix) leftOut() []unplayed {
	return joinScenarios(m.scenarios, func(s string) []unplayed {
		if !m.empty(s) {
			return nil
		}
		return m.inapplicableTo(s)
	})
}

// groupLocks groups the unplayed locks of a scenario by reason. why has no reason
// for played ones.
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
			out = append(out, unplayed{Reason: reason, Scenarios: []string{english.Name(scenario)}})
		}
		out[i].Locks = append(out[i].Locks, english.Name(l))
	}
	for i := range out {
		out[i].every = apply > 1 && len(out[i].Locks) == apply
	}
	return out
}

// joinScenarios merges scenarios with the same unplayed locks and the same reason.
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
