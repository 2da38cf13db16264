package reports

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/results"
)

// Fidelity compares what the same scenarios and locks came to in the simulator
// and on real servers. Of several runs of a pair the worst one counts, as in
// the matrix of a report. It is only read.
type Fidelity struct {
	Sim, Live results.Results
	// About gives the order of the scenarios; those that are missing follow.
	About []About
	// Explained says why the worlds differ, and who is right, in a paragraph:
	// by "scenario/lock/property", where the property is as in a results
	// document, or "run" when one world has no verdicts at all.
	Explained map[string]string
}

// Difference is a property on which the two worlds do not agree.
type Difference struct {
	Scenario, Lock, Property string
	// Sim and Live are the verdicts; where a world has none, its Outcome is
	// empty and its Reason says why.
	Sim, Live checker.Verdict
	// Explanation is empty when there is none.
	Explanation string
}

// Key is what an explanation of the difference goes by.
func (d Difference) Key() string { return d.Scenario + "/" + d.Lock + "/" + d.Property }

// Differences lists them in the order of scenarios, locks and properties. What
// the live world did not play makes no difference.
func (f Fidelity) Differences() []Difference {
	t := newTwoWorlds(f)
	var out []Difference
	for _, s := range t.all.scenarios {
		for _, l := range t.all.locks {
			out = append(out, t.differences(s, l)...)
		}
	}
	return out
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

// played is the run of a pair that counts, nil when there is none.
func played(m *matrix, scenario, lock string) *results.Run {
	if c := m.cell(scenario, lock); c != nil {
		return c.worst()
	}
	return nil
}

func (t *twoWorlds) differences(scenario, lock string) []Difference {
	sim, live := played(t.sim, scenario, lock), played(t.live, scenario, lock)
	if live == nil {
		return nil
	}
	found := func(property string, a, b checker.Verdict) Difference {
		d := Difference{Scenario: scenario, Lock: lock, Property: property, Sim: a, Live: b}
		d.Explanation = t.explained[d.Key()]
		return d
	}
	if sim == nil || sim.Failure != "" || live.Failure != "" {
		return []Difference{found("run", asOne(sim), asOne(live))}
	}
	var out []Difference
	for _, p := range bothProperties(sim, live) {
		a, b := verdictOn(sim, p), verdictOn(live, p)
		if a.Outcome != b.Outcome || a.Class != b.Class {
			out = append(out, found(string(p), a, b))
		}
	}
	return out
}

// asOne is a run as one verdict, for when the other world has nothing to
// compare it with.
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

// bothProperties are those that either run has a verdict on, in the order of
// reports.
func bothProperties(a, b *results.Run) []checker.Property {
	either := results.Run{Verdicts: map[checker.Property]checker.Verdict{}}
	for _, r := range []*results.Run{a, b} {
		for p, v := range r.Verdicts {
			either.Verdicts[p] = v
		}
	}
	return propertiesOf(&either)
}

// agreement is what the two worlds make of one pair.
type agreement int

const (
	nowhere     agreement = iota // neither world played it
	onlySim                      // the live world did not play it
	agreed                       // on every property
	explained                    // they differ, and it is explained
	unexplained                  // they differ, and some difference is not explained
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
	case slices.ContainsFunc(differences, func(d Difference) bool { return d.Explanation == "" }):
		return unexplained
	}
	return explained
}

// marks are those of both worlds, or the one that they share.
func (t *twoWorlds) marks(scenario, lock string) (sim, live mark, a agreement) {
	return t.sim.cell(scenario, lock).mark(), t.live.cell(scenario, lock).mark(), t.agreement(scenario, lock)
}

// counts says how many pairs there are of each agreement.
func (t *twoWorlds) counts() map[agreement]int {
	n := map[agreement]int{}
	for _, s := range t.all.scenarios {
		for _, l := range t.all.locks {
			n[t.agreement(s, l)]++
		}
	}
	return n
}

// notInLive groups what only the simulator played.
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
			return cmp.Or(reason, clean(c.skip.Reason), "no reason is given"), true
		})
	})
}

// stale lists explanations of what is no difference, or is none any more.
func (t *twoWorlds) stale(all []Difference) []string {
	var out []string
	for key := range t.explained {
		if !slices.ContainsFunc(all, func(d Difference) bool { return d.Key() == key }) {
			out = append(out, clean(key))
		}
	}
	slices.Sort(out)
	return out
}
