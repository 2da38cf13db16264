package reports

import (
	"slices"
	"strings"
)

// notRun is how the reason of a skip begins when the scenario does apply to
// the lock, and this world or this machine cannot play it.
const notRun = "not run: "

// unplayed are pairs of scenario and lock that could not be played for one
// reason.
type unplayed struct {
	Reason    string
	Scenarios []string
	Locks     []string // those that every one of the scenarios was not played with
}

// cannot is why a pair could not be played; ok is false for one that does not
// apply.
func (s *Skip) cannot() (reason string, ok bool) {
	reason, ok = strings.CutPrefix(s.Reason, notRun)
	return clean(reason), ok
}

// unplayed groups what could not be played: by reason, then by the locks.
func (m *matrix) unplayed() []unplayed {
	var out []unplayed
	for _, s := range m.scenarios {
		for _, u := range m.unplayedIn(s) {
			i := slices.IndexFunc(out, func(o unplayed) bool { return o.Reason == u.Reason && slices.Equal(o.Locks, u.Locks) })
			if i < 0 {
				out = append(out, u)
				continue
			}
			out[i].Scenarios = append(out[i].Scenarios, u.Scenarios...)
		}
	}
	return out
}

// unplayedIn groups the locks of one scenario by reason.
func (m *matrix) unplayedIn(scenario string) []unplayed {
	var out []unplayed
	for _, l := range m.locks {
		c := m.cell(scenario, l)
		if c.mark() != markSkipped {
			continue
		}
		reason, ok := c.skip.cannot()
		if !ok {
			continue
		}
		i := slices.IndexFunc(out, func(o unplayed) bool { return o.Reason == reason })
		if i < 0 {
			i = len(out)
			out = append(out, unplayed{Reason: reason, Scenarios: []string{name(scenario)}})
		}
		out[i].Locks = append(out[i].Locks, name(l))
	}
	return out
}

// with names the locks, or says that they are all of them.
func (u *unplayed) with(m *matrix) string {
	if len(u.Locks) == len(m.locks) {
		return "any lock"
	}
	return enumerate(u.Locks)
}
