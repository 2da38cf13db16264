package reports

import (
	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports/results"
)

// chooseBeside chooses the run to show beside one that breaks, as an example of what to
// do about it; nil without one. All runs are of one scenario. The reference comes
// first if it survives, then a lock that survives with fencing or renewal, then one
// with a lease. A lock without a lease comes last, after one that is outlived like
// the first and whose tokens keep the resource safe.
func chooseBeside(broken *results.Run, runs []*results.Run, reference string) *results.Run {
	worst := map[string]int{} // of all seeds of a column
	for _, r := range runs {
		n := example(broken, r, reference)
		if was, seen := worst[r.Column()]; !seen || n < was {
			worst[r.Column()] = n
		}
	}
	var best *results.Run
	most := 0
	for _, r := range runs {
		if n := worst[r.Column()]; n > most && r.Column() != broken.Column() {
			best, most = r, n
		}
	}
	return best
}

// The reasons for a run as an example, from the weakest to the strongest; 0 stands for
// none.
const (
	noLease = 1 + iota
	fenced
	leased
	guaranteed
	referred
)

func example(broken, r *results.Run, reference string) int {
	switch {
	case !r.Passed() || undecided(r):
		return 0
	case breaks(r):
		if broken.Verdicts[checker.ResourceSafe].Outcome == checker.Violated && keepsResource(r) {
			return fenced
		}
		return 0
	case r.Column() == reference:
		return referred
	case claims(r, checker.Fencing) || claims(r, checker.Renewal):
		return guaranteed
	case claims(r, checker.Lease):
		return leased
	}
	return noLease
}

// keepsResource reports whether a run breaks in one way alone. A holder outlives its
// lease, and the tokens of the lock keep the resource safe.
func keepsResource(r *results.Run) bool {
	for p, v := range r.Verdicts {
		if v.Outcome == checker.Violated && (p != checker.Exclusion || v.Class != checker.LeaseOutlived) {
			return false
		}
	}
	return breaks(r) && claims(r, checker.Fencing)
}

// whyBeside says what a run beside one that breaks is an example of, as in "survives",
// and the reason. otherwise is the argument of the scenario for those that survive.
func whyBeside(r *results.Run, otherwise string) (does, reason string) {
	switch {
	case keepsResource(r):
		return "loses no update", r.Because[checker.Exclusion]
	case holdsForever(r):
		return "survives", otherwise + " This is no remedy: its holds never end by themselves, so the lock stays taken when a holder dies."
	}
	return "survives", otherwise
}

// holdsForever reports whether the lock of a run has no lease. It is false without a
// server log.
func holdsForever(r *results.Run) bool {
	return claims(r, checker.Ownership) && !claims(r, checker.Lease)
}

func claims(r *results.Run, p checker.Property) bool {
	_, judged := r.Verdicts[p]
	return judged
}
