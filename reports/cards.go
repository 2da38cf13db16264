package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// card sums up one lock: the hazards that it survives, those that break it, and what to
// do about them.
type card struct {
	lock     string   // the column of the report
	survives []string // hazards under which every property holds in every scenario
	breaks   []breakage
	unknown  []string // hazards with an undecided verdict
	advice   []string
}

// breakage is one harm that a lock does under a hazard.
type breakage struct {
	hazard    string
	harm      checker.Harm
	scenarios []string
	// inherent says that no lock with the same claims could have avoided the
	// violation, in any of the scenarios.
	inherent bool
}

// breaks reports whether a run violates a property.
func breaks(r *results.Run) bool { return checker.HarmOf(r.Verdicts) != checker.NoHarm }

func undecided(r *results.Run) bool {
	return r.Failure != "" || len(r.Verdicts) == 0 || some(r, func(v checker.Verdict) bool { return v.Outcome == checker.Unknown })
}

// some reports whether something is true of a verdict of a run.
func some(r *results.Run, is func(checker.Verdict) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(r.Verdicts)), is)
}

// place is a lock, and a hazard or a scenario.
type place struct{ lock, under string }

// tally counts runs, by lock and hazard or by lock and scenario.
type tally struct {
	played  map[place][]string     // by hazard: the scenarios
	broken  map[place][]string     // by hazard: those that broke the lock
	unknown map[place]bool         // by hazard: some run is undecided
	worst   map[place]checker.Harm // by scenario, over all seeds
	faulty  map[place]bool         // by scenario: the lock could have kept a promise
	overlap map[place]float64      // by hazard: the longest time with two holders, in ms
}

func newTally(runs []results.Run, hazard func(scenario string) string) *tally {
	y := &tally{map[place][]string{}, map[place][]string{}, map[place]bool{}, map[place]checker.Harm{}, map[place]bool{}, map[place]float64{}}
	for i := range runs {
		r := &runs[i]
		k, cell, harm := place{r.Column(), hazard(r.Scenario)}, place{r.Column(), r.Scenario}, checker.HarmOf(r.Verdicts)
		y.played[k] = added(y.played[k], r.Scenario)
		if harm != checker.NoHarm {
			y.broken[k] = added(y.broken[k], r.Scenario)
		}
		y.worst[cell] = max(y.worst[cell], harm)
		y.unknown[k] = y.unknown[k] || undecided(r)
		y.faulty[cell] = y.faulty[cell] || some(r, checker.Verdict.Faulty)
		y.overlap[k] = max(y.overlap[k], r.Verdicts[checker.Exclusion].OverlapMS)
	}
	return y
}

// cards sums up some locks, in the given order. hazards gives the order of hazards.
func (y *tally) cards(locks, hazards []string) []card {
	var all []card
	for _, l := range locks {
		all = append(all, y.card(l, locks, hazards))
	}
	return all
}

func (y *tally) card(lock string, locks, hazards []string) card {
	c := card{lock: lock}
	var elsewhere []string
	for _, h := range hazards {
		k := place{lock, h}
		switch {
		case len(y.played[k]) == 0:
		case len(y.broken[k]) > 0:
			c.breaks = append(c.breaks, y.breaks(k)...)
			if others := y.survivors(k, locks); len(others) > 0 {
				elsewhere = append(elsewhere, fmt.Sprintf("%s: %s where it breaks.", english.Upper(h), survive(others)))
			}
		case y.unknown[k]:
			c.unknown = append(c.unknown, h)
		default:
			c.survives = append(c.survives, h)
		}
	}
	slices.SortStableFunc(c.breaks, func(a, b breakage) int { return cmp.Compare(b.harm, a.harm) })
	for i, b := range c.breaks {
		if i == 0 || c.breaks[i-1].harm != b.harm {
			c.advice = append(c.advice, b.harm.Remedy())
		}
	}
	c.advice = append(c.advice, elsewhere...)
	return c
}

// breaks lists the harms that a lock did under a hazard, the worst first.
func (y *tally) breaks(k place) []breakage {
	var all []breakage
	for harm := checker.TwoHolders; harm > checker.NoHarm; harm-- {
		b := breakage{hazard: k.under, harm: harm, inherent: true}
		for _, s := range y.broken[k] {
			if cell := (place{k.lock, s}); y.worst[cell] == harm {
				b.scenarios = append(b.scenarios, s)
				b.inherent = b.inherent && !y.faulty[cell]
			}
		}
		if len(b.scenarios) > 0 {
			all = append(all, b)
		}
	}
	return all
}

// own reports whether a lock could have kept a promise that it broke under a hazard.
func (y *tally) own(k place) bool {
	return slices.ContainsFunc(y.broken[k], func(s string) bool { return y.faulty[place{k.lock, s}] })
}

// survivors are the other locks that survived every scenario which broke this one.
func (y *tally) survivors(k place, locks []string) []string {
	var all []string
	for _, l := range locks {
		o := place{l, k.under}
		if l != k.lock && survivesAll(y.played[o], y.broken[o], y.broken[k]) && !y.unknown[o] {
			all = append(all, l)
		}
	}
	return all
}

// survivesAll reports whether a lock was played in every scenario of a list and
// survived each.
func survivesAll(played, broken, list []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(played, s) || slices.Contains(broken, s) })
}

func survive(locks []string) string {
	const most = 4
	if len(locks) > most {
		locks = append(slices.Clone(locks[:most]), fmt.Sprintf("%d more", len(locks)-most))
	}
	if len(locks) == 1 {
		return locks[0] + " holds"
	}
	return english.And(locks) + " hold"
}
