package playground

import (
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// mostTried is the largest number of other locks that a request may play to find one that
// survives.
const mostTried = 3

// reference is the lock to show beside a violation where it survives.
const reference = "reentrant"

// order is the lock of a job: that of the request, or of Beside the first lock that
// survives. Then it has the run of the request, with its history.
type order struct {
	Request
	Beside  []string     `json:"beside,omitempty"`
	Run     *results.Run `json:"run,omitempty"`
	History []byte       `json:"history,omitempty"`
}

type drawn struct {
	run     results.Run
	history *history.History
}

// survivors are the locks that may survive what the chosen lock does not, the most likely
// first. These are the ones that the scenario argues for, and of them the reference, then
// those with a guarantee. A changed scenario argues for none, but the arguments are still
// a good guess.
func (p *plan) survivors() []string {
	rank := func(lock string) int {
		at, l := 0, locks.MustFind(lock)
		for _, e := range p.asItIs.Expected(l) {
			if e.Outcome != checker.OutcomeOK {
				at = 4
			}
		}
		switch c := l.Claims; {
		case lock == reference:
		case c.Renewal || c.Fencing:
			at++
		case c.Lease:
			at += 2
		default: // its holds never end by themselves
			at += 3
		}
		return at
	}
	others := slices.DeleteFunc(locksOf(p.scenario), func(lock string) bool { return lock == p.Lock })
	slices.SortStableFunc(others, func(a, b string) int { return rank(a) - rank(b) })
	return others[:min(len(others), mostTried)]
}

func violated(verdicts map[checker.Property]checker.Verdict) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(verdicts)), func(v checker.Verdict) bool { return v.Outcome == checker.Violated })
}

func survives(r results.Run) bool {
	failed := func(v checker.Verdict) bool { return v.Outcome != checker.OutcomeOK }
	return r.Failure == "" && len(r.Verdicts) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(r.Verdicts)), failed)
}
