package reports

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Fidelity compares the verdicts on the same scenarios and locks in the simulator
// and on real servers. Of several runs of a pair the worst one counts, as in the
// matrix of a report. Fidelity changes nothing.
type Fidelity struct {
	Sim, Live results.Results
	// About gives the order of the scenarios; others follow.
	About []About
	// Explained says in a paragraph why the worlds differ, and which one is
	// right. Its keys are "scenario/lock/property", with the property of a
	// results document, or "run" if one world has no verdicts at all.
	Explained map[string]string
}

// difference is a property with different verdicts in the two worlds.
type difference struct {
	Scenario, Lock, Property string
	// Sim and Live are the verdicts. A missing one has an empty Outcome, and the
	// cause as its Reason.
	Sim, Live checker.Verdict
	// Explanation is empty when there is none.
	Explanation string
}

// key identifies a difference in [Fidelity.Explained].
func (d difference) key() string { return d.Scenario + "/" + d.Lock + "/" + d.Property }

// differences lists the differences in the order of scenarios, locks and
// properties. A run that the live world did not play makes none.
func (f Fidelity) differences() []difference {
	t := newTwoWorlds(f)
	var out []difference
	for _, s := range t.all.scenarios {
		for _, l := range t.all.locks {
			out = append(out, t.differences(s, l)...)
		}
	}
	return out
}

// AllExplained reports whether every difference has an explanation.
func (f Fidelity) AllExplained() bool {
	return !slices.ContainsFunc(f.differences(), func(d difference) bool { return d.Explanation == "" })
}

// twoWorlds are the matrices of both worlds, and one with all rows and columns.
type twoWorlds struct {
	all, sim, live *matrix
	explained      map[string]string
}

func newTwoWorlds(f Fidelity) *twoWorlds {
	all := results.Results{Runs: slices.Concat(f.Sim.Runs, f.Live.Runs), Skipped: slices.Concat(f.Sim.Skipped, f.Live.Skipped)}
	return &twoWorlds{
		all: newMatrix(Document{Results: all, About: f.About}), sim: newMatrix(Document{Results: f.Sim}), live: newMatrix(Document{Results: f.Live}),
		explained: f.Explained,
	}
}

// played is the run of a pair that counts, nil without one.
func played(m *matrix, scenario, lock string) *results.Run {
	if c := m.cell(scenario, lock); c != nil {
		return c.worst()
	}
	return nil
}

func (t *twoWorlds) differences(scenario, lock string) []difference {
	sim, live := played(t.sim, scenario, lock), played(t.live, scenario, lock)
	if live == nil {
		return nil
	}
	found := func(property string, a, b checker.Verdict) difference {
		d := difference{Scenario: scenario, Lock: lock, Property: property, Sim: a, Live: b}
		d.Explanation = t.explained[d.key()]
		return d
	}
	if sim == nil || sim.Failure != "" || live.Failure != "" {
		return []difference{found("run", asOne(sim), asOne(live))}
	}
	var out []difference
	for _, p := range bothProperties(sim, live) {
		a, b := verdictOn(sim, p), verdictOn(live, p)
		if a.Outcome != b.Outcome || a.Class != b.Class {
			out = append(out, found(string(p), a, b))
		}
	}
	return out
}

// asOne sums up a run as one verdict, if the other world has nothing to compare it with.
func asOne(r *results.Run) checker.Verdict {
	switch {
	case r == nil:
		return checker.Verdict{Reason: "was not played"}
	case r.Failure != "":
		reason, _ := failureOf(r)
		return checker.Verdict{Reason: "could not be judged: " + reason}
	}
	return checker.Verdict{Reason: inWords(r)}
}

func verdictOn(r *results.Run, p checker.Property) checker.Verdict {
	if v, ok := r.Verdicts[p]; ok {
		return v
	}
	return checker.Verdict{Reason: "was not judged"}
}

// bothProperties are the properties of either run, in the order of reports.
func bothProperties(a, b *results.Run) []checker.Property {
	either := results.Run{Verdicts: map[checker.Property]checker.Verdict{}}
	maps.Copy(either.Verdicts, a.Verdicts)
	maps.Copy(either.Verdicts, b.Verdicts)
	return propertiesOf(&either)
}

// agreement compares the two worlds on one pair.
type agreement int

const (
	nowhere     agreement = iota // neither world played it
	onlySim                      // the live world did not play it
	agreed                       // on every property
	explained                    // they differ, with an explanation
	unexplained                  // they differ, and one difference has no explanation
)

func (t *twoWorlds) agreement(scenario, lock string) agreement {
	sim, live := played(t.sim, scenario, lock), played(t.live, scenario, lock)
	differences := t.differences(scenario, lock)
	switch {
	case sim == nil && live == nil:
		return nowhere
	case live == nil:
		return onlySim
	case len(differences) == 0:
		return agreed
	case slices.ContainsFunc(differences, func(d difference) bool { return d.Explanation == "" }):
		return unexplained
	}
	return explained
}

// marks are those of both worlds, or the common one.
func (t *twoWorlds) marks(scenario, lock string) (sim, live mark, a agreement) {
	return t.sim.cell(scenario, lock).mark(), t.live.cell(scenario, lock).mark(), t.agreement(scenario, lock)
}

// counts counts the pairs of each agreement.
func (t *twoWorlds) counts() map[agreement]int {
	n := map[agreement]int{}
	for _, s := range t.all.scenarios {
		for _, l := range t.all.locks {
			n[t.agreement(s, l)]++
		}
	}
	return n
}

// notInLive groups the pairs that only the simulator played.
func (t *twoWorlds) notInLive() []unplayed {
	return joinScenarios(t.all.scenarios, func(s string) []unplayed {
		return groupLocks(s, t.all.locks, func(l string) (reason string, applies bool) {
			if t.agreement(s, l) != onlySim {
				return "", t.agreement(s, l) != nowhere
			}
			c := t.live.cell(s, l)
			if c == nil || c.skip == nil {
				return "no reason is given", true
			}
			reason, _ = cannotRun(c.skip)
			return cmp.Or(reason, english.Clean(c.skip.Reason), "no reason is given"), true
		})
	})
}

// stale lists explanations that match no difference.
func (t *twoWorlds) stale(all []difference) []string {
	var out []string
	for key := range t.explained {
		if !slices.ContainsFunc(all, func(d difference) bool { return d.key() == key }) {
			out = append(out, english.Clean(key))
		}
	}
	slices.Sort(out)
	return out
}
