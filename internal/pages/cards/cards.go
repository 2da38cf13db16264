// Package cards sums up each lock of a report: the hazards that it survives,
// those that break it, its costs, and a remedy.
package cards

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Card sums up one lock.
type Card struct {
	Lock     string // the column of the report
	Survives []Survived
	Breaks   []Break
	Unknown  []string // hazards with an undecided verdict
	Advice   []string
}

// Survived is a hazard under which every property holds in every scenario.
type Survived struct {
	Hazard    string
	Scenarios int
}

// Break is one way in which a lock fails under a hazard.
type Break struct {
	Hazard    string
	How       string // "two holders"
	Class     string // of the way, for a colour: "broken", "outlived", "stuck" or "other"
	Scenarios []string
	Of        int // scenarios of the hazard that were played
	// Inherent says that no lock with the same claims could have avoided the
	// violation, in any of the scenarios.
	Inherent bool
}

// way is a way of breaking. The violated properties decide it.
type way struct {
	how, class, remedy string
	fits               func(violated map[checker.Property]checker.Verdict) bool
}

// ways are listed from the worst to the mildest. A run counts for the first that
// fits.
var ways = []way{
	{"two holders", "broken", "An owner gets the lock while the lease of another lives, so no timeout helps. Let the resource check a fencing token, and keep the lock on more than one server.",
		func(v map[checker.Property]checker.Verdict) bool {
			x, ok := v[checker.Exclusion]
			return ok && x.Class != checker.LeaseOutlived
		}},
	{"two holders past a lease", "outlived", "A holder works on after its lease. Renew the lease, stop when its validity ends, and let the resource check a fencing token.",
		func(v map[checker.Property]checker.Verdict) bool { return has(v, checker.Exclusion) }},
	{"deadlock", "stuck", "A hold never ends by itself. Give every hold a lease, and set key and lease in one command.",
		func(v map[checker.Property]checker.Verdict) bool {
			return has(v, checker.Progress) && has(v, checker.Cleanup)
		}},
	{"lost updates", "other", "The resource accepts what an owner does without the lock. Let it check a fencing token, for reads as well.",
		func(v map[checker.Property]checker.Verdict) bool {
			return has(v, checker.ResourceSafe) || has(v, checker.Fencing)
		}},
	{"waits on a free lock", "other", "A waiter sleeps for longer than the lock is taken. Let waiters be notified, and try again after a bounded time.",
		func(v map[checker.Property]checker.Verdict) bool { return has(v, checker.Progress) }},
	{"wrong answer to the caller", "other", "Treat an error of an acquire or of a release as an unknown outcome, and find out who holds the lock.",
		func(v map[checker.Property]checker.Verdict) bool { return len(v) > 0 }},
}

func has(violated map[checker.Property]checker.Verdict, p checker.Property) bool {
	_, ok := violated[p]
	return ok
}

// Way is how a run breaks, with a remedy.
type Way struct {
	Rank        int    // 0 for the worst
	How, Remedy string // "two holders"; a sentence or two
}

// WayOf is the worst way in which a run breaks; false for a run that does not
// break.
func WayOf(r *results.Run) (Way, bool) {
	i := wayOf(r)
	if i < 0 {
		return Way{}, false
	}
	return Way{i, ways[i].how, ways[i].remedy}, true
}

// wayOf is how a run breaks, or -1.
func wayOf(r *results.Run) int {
	violated := violatedBy(r)
	return slices.IndexFunc(ways, func(w way) bool { return w.fits(violated) })
}

func violatedBy(r *results.Run) map[checker.Property]checker.Verdict {
	violated := map[checker.Property]checker.Verdict{}
	for p, v := range r.Verdicts {
		if v.Outcome == checker.Violated {
			violated[p] = v
		}
	}
	return violated
}

// atFault reports whether the lock could have kept a promise that it broke.
func atFault(r *results.Run) bool {
	for _, v := range r.Verdicts {
		if v.Faulty() {
			return true
		}
	}
	return false
}

// Undecided reports whether a run has an undecided verdict.
func Undecided(r *results.Run) bool {
	if r.Failure != "" || len(r.Verdicts) == 0 {
		return true
	}
	for _, v := range r.Verdicts {
		if v.Outcome == checker.Unknown {
			return true
		}
	}
	return false
}

// pair is a lock, and a hazard or a scenario.
type pair struct{ lock, under string }

// record counts runs, by lock and hazard or by lock and scenario.
type record struct {
	played  map[pair][]string // by hazard: the scenarios
	broken  map[pair][]string // by hazard: those that broke the lock
	unknown map[pair]bool     // by hazard: some run is undecided
	worst   map[pair]int      // by scenario: the worst way, over all seeds
	faulty  map[pair]bool     // by scenario: the lock could have kept a promise
}

func newRecord(runs []results.Run, hazard func(scenario string) string) *record {
	rec := &record{map[pair][]string{}, map[pair][]string{}, map[pair]bool{}, map[pair]int{}, map[pair]bool{}}
	for i := range runs {
		r := &runs[i]
		k, cell, w := pair{r.Column(), hazard(r.Scenario)}, pair{r.Column(), r.Scenario}, wayOf(r)
		if !slices.Contains(rec.played[k], r.Scenario) {
			rec.played[k] = append(rec.played[k], r.Scenario)
		}
		if w >= 0 && !slices.Contains(rec.broken[k], r.Scenario) {
			rec.broken[k] = append(rec.broken[k], r.Scenario)
		}
		if old, seen := rec.worst[cell]; w >= 0 && (!seen || w < old) {
			rec.worst[cell] = w
		}
		rec.unknown[k] = rec.unknown[k] || Undecided(r)
		rec.faulty[cell] = rec.faulty[cell] || atFault(r)
	}
	return rec
}

// Of sums up the locks of some runs, in the given order of locks. hazard names
// the hazard of a scenario, and hazards gives their order.
func Of(runs []results.Run, locks, hazards []string, hazard func(scenario string) string) []Card {
	rec := newRecord(runs, hazard)
	var all []Card
	for _, l := range locks {
		all = append(all, rec.card(l, locks, hazards))
	}
	return all
}

func (rec *record) card(lock string, locks, hazards []string) Card {
	c := Card{Lock: lock}
	var elsewhere []string
	for _, h := range hazards {
		k := pair{lock, h}
		switch n := len(rec.played[k]); {
		case n == 0:
		case len(rec.broken[k]) > 0:
			c.Breaks = append(c.Breaks, rec.breaks(k)...)
			if others := rec.survivors(k, locks); len(others) > 0 {
				elsewhere = append(elsewhere, fmt.Sprintf("%s: %s where it breaks.", english.Upper(h), survive(others)))
			}
		case rec.unknown[k]:
			c.Unknown = append(c.Unknown, h)
		default:
			c.Survives = append(c.Survives, Survived{h, n})
		}
	}
	slices.SortStableFunc(c.Breaks, func(a, b Break) int { return rank(a.How) - rank(b.How) })
	for _, w := range ways {
		if slices.ContainsFunc(c.Breaks, func(b Break) bool { return b.How == w.how }) {
			c.Advice = append(c.Advice, w.remedy)
		}
	}
	c.Advice = append(c.Advice, elsewhere...)
	return c
}

// breaks lists the ways in which a lock broke under a hazard.
func (rec *record) breaks(k pair) []Break {
	var all []Break
	for i, w := range ways {
		b := Break{Hazard: k.under, How: w.how, Class: w.class, Of: len(rec.played[k]), Inherent: true}
		for _, s := range rec.broken[k] {
			if cell := (pair{k.lock, s}); rec.worst[cell] == i {
				b.Scenarios = append(b.Scenarios, s)
				b.Inherent = b.Inherent && !rec.faulty[cell]
			}
		}
		if len(b.Scenarios) > 0 {
			all = append(all, b)
		}
	}
	return all
}

// survivors are the other locks that survived every scenario which broke this one.
func (rec *record) survivors(k pair, locks []string) []string {
	var all []string
	for _, l := range locks {
		o := pair{l, k.under}
		if l != k.lock && survivesAll(rec.played[o], rec.broken[o], rec.broken[k]) && !rec.unknown[o] {
			all = append(all, l)
		}
	}
	return all
}

func rank(how string) int {
	return slices.IndexFunc(ways, func(w way) bool { return w.how == how })
}

// survivesAll reports whether a lock was played in every scenario of a list and
// survived each.
func survivesAll(played, broken, list []string) bool {
	for _, s := range list {
		if !slices.Contains(played, s) || slices.Contains(broken, s) {
			return false
		}
	}
	return true
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
