// Package cards sums up each lock of a report: the hazards that it survives,
// those that break it, its costs, and a remedy.
package cards

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/results"
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

// Undecided reports whether a run has an undecided verdict.
func Undecided(r *results.Run) bool { return undecided(r) }

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

func undecided(r *results.Run) bool {
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

// Of sums up the locks of some runs, in the given order of locks. hazard names
// the hazard of a scenario, and hazards gives their order.
func Of(runs []results.Run, locks, hazards []string, hazard func(scenario string) string) []Card {
	type at struct{ lock, hazard string }
	played := map[at][]string{} // scenarios
	broken := map[at][]string{}
	unknown := map[at]bool{}
	worst := map[[2]string]int{} // lock and scenario -> the worst way over all seeds
	faulty := map[[2]string]bool{}
	for i := range runs {
		r := &runs[i]
		k := at{r.Column(), hazard(r.Scenario)}
		if !slices.Contains(played[k], r.Scenario) {
			played[k] = append(played[k], r.Scenario)
		}
		cell := [2]string{r.Column(), r.Scenario}
		w := wayOf(r)
		if old, seen := worst[cell]; w >= 0 && (!seen || w < old) {
			worst[cell] = w
		}
		faulty[cell] = faulty[cell] || atFault(r)
		if w >= 0 && !slices.Contains(broken[k], r.Scenario) {
			broken[k] = append(broken[k], r.Scenario)
		}
		unknown[k] = unknown[k] || undecided(r)
	}
	var all []Card
	for _, l := range locks {
		c := Card{Lock: l}
		remedies := map[int]bool{}
		for _, h := range hazards {
			k := at{l, h}
			switch n := len(played[k]); {
			case n == 0:
				continue
			case len(broken[k]) == 0 && unknown[k]:
				c.Unknown = append(c.Unknown, h)
				continue
			case len(broken[k]) == 0:
				c.Survives = append(c.Survives, Survived{h, n})
				continue
			}
			for i, w := range ways {
				b := Break{Hazard: h, How: w.how, Class: w.class, Of: len(played[k]), Inherent: true}
				for _, s := range broken[k] {
					if worst[[2]string{l, s}] == i {
						b.Scenarios = append(b.Scenarios, s)
						b.Inherent = b.Inherent && !faulty[[2]string{l, s}]
					}
				}
				if len(b.Scenarios) > 0 {
					c.Breaks = append(c.Breaks, b)
					remedies[i] = true
				}
			}
			var others []string
			for _, o := range locks {
				if o != l && survivesAll(played[at{o, h}], broken[at{o, h}], broken[k]) && !unknown[at{o, h}] {
					others = append(others, o)
				}
			}
			if len(others) > 0 {
				c.Advice = append(c.Advice, fmt.Sprintf("%s: %s where it breaks.", english.Upper(h), survive(others)))
			}
		}
		slices.SortStableFunc(c.Breaks, func(a, b Break) int { return rank(a.How) - rank(b.How) })
		var first []string
		for i, w := range ways {
			if remedies[i] {
				first = append(first, w.remedy)
			}
		}
		c.Advice = append(first, c.Advice...)
		all = append(all, c)
	}
	return all
}

func rank(how string) int {
	for i, w := range ways {
		if w.how == how {
			return i
		}
	}
	return len(ways)
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
