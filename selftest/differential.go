package selftest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/explore/draw"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/subject/gallery"
	"github.com/holdfast-go/holdfast/suite"
)

// A mutant sends other messages than its original, or takes other times for
// them. So a fault that is aimed at a message strikes something else, and what
// one of the two does with one seed proves nothing. Both play a scenario again
// with other seeds, in all differentialSeeds times. A violation is the mutant's
// mistake when the mutant shows it at least differentialLeast times, with faults
// that struck in the same phases as with the original, which never shows it.
const (
	differentialSeeds = 8
	differentialLeast = 4
)

// differentialKind is a drawn run with a mutant and with the lock that the mutant
// is made from. It gives an [explore.Seen] of what the original does not violate.
const differentialKind = "differential"

func init() { suite.RegisterKind(differentialKind, playDifferential) }

// playDifferential draws, plays and judges one run of a mutant, and keeps of what
// it has shown what the lock that it is made from does not.
func playDifferential(j suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
	began := time.Now()
	fail := func(err error) suite.Answer {
		a.Defect = err.Error()
		return a
	}
	m, ok := gallery.Find(j.Lock)
	if !ok {
		return fail(fmt.Errorf("%s is no mutant", j.Lock))
	}
	originals, err := subject.Originals(m)
	if err != nil {
		return fail(err)
	}
	l, s, err := explore.DrawFor(j)
	if err != nil {
		return fail(err)
	}
	a.Run.Scenario = s.Name
	seen, _, err := explore.PlayObserved(&a.Run, s, l, g)
	if err != nil {
		return fail(err)
	}
	d := differential{scenario: s, seed: j.Seed, mutant: l, originals: originals, guard: g}
	if err := d.keepMistakes(a.Run.Verdicts); err != nil {
		return fail(err)
	}
	var mistake explore.Seen
	for _, p := range checker.Properties() { // the worst first
		if c, violated := seen.CauseOf(p.Name); violated && a.Run.Verdicts[p.Name].Outcome == checker.Violated {
			mistake.Cause = &c
			break
		}
	}
	a.Give(mistake)
	a.Run.Verdicts, a.Run.Expected, a.Run.ExpectedClass, a.Run.Because = nil, nil, nil, nil
	a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return a
}

// differential is a drawn scenario, to be played with a mutant and its originals.
type differential struct {
	scenario  *scenarios.Scenario
	seed      uint64
	mutant    *subject.Subject
	originals []*subject.Subject
	guard     suite.Guard
}

// keepMistakes leaves of the verdicts on the mutant those violations that are
// its mistake. What comes out unknown with an original counts as violated there,
// and so does any violation of exclusion where the mutant's is that of a lease
// outlived.
func (d differential) keepMistakes(verdicts map[checker.Property]checker.Verdict) error {
	drop := func(when func(checker.Property, checker.Verdict) bool) { maps.DeleteFunc(verdicts, when) }
	drop(func(_ checker.Property, v checker.Verdict) bool { return v.Outcome != checker.Violated })
	struck := draw.Coverage{} // with the originals
	var runs []drawnRun       // of the mutant
	for n := range differentialSeeds {
		for _, l := range d.originals {
			if len(verdicts) == 0 {
				return nil
			}
			r, err := d.play(l, n)
			if err != nil {
				return err
			}
			struck.Add(r.struck)
			drop(func(p checker.Property, v checker.Verdict) bool { return shows(r.verdicts[p], v) })
		}
		if len(verdicts) == 0 {
			return nil
		}
		r, err := d.play(d.mutant, n)
		if err != nil {
			return err
		}
		runs = append(runs, r)
		drop(func(p checker.Property, v checker.Verdict) bool {
			return len(again(runs, p, v))+differentialSeeds-len(runs) < differentialLeast
		})
	}
	drop(func(p checker.Property, v checker.Verdict) bool {
		alike := slices.DeleteFunc(again(runs, p, v), func(r drawnRun) bool { return !inside(r.struck, struck) })
		return len(alike) < differentialLeast
	})
	return nil
}

// again are the runs that have a violation like v.
func again(runs []drawnRun, p checker.Property, v checker.Verdict) []drawnRun {
	var some []drawnRun
	for _, r := range runs {
		if o := r.verdicts[p]; o.Outcome == checker.Violated && o.Class == v.Class {
			some = append(some, r)
		}
	}
	return some
}

// inside reports whether all cells of one coverage are hit in the other.
func inside(some, all draw.Coverage) bool {
	for cell := range some {
		if all[cell] == 0 {
			return false
		}
	}
	return true
}

// shows reports whether a verdict on the original takes the meaning from one on
// the mutant.
func shows(original, mutant checker.Verdict) bool {
	worse := mutant.Class == checker.ContractBroken && original.Class == checker.LeaseOutlived
	return original.Outcome != checker.OutcomeOK && !worse
}

// drawnRun is what a drawn scenario has shown.
type drawnRun struct {
	verdicts map[checker.Property]checker.Verdict
	struck   draw.Coverage
}

// play plays the scenario with the nth seed.
func (d differential) play(l *subject.Subject, n int) (drawnRun, error) {
	run := results.Run{Lock: l.Name(), Seed: d.seed + uint64(n)}
	seen, _, err := explore.PlayObserved(&run, d.scenario, l, d.guard)
	if err != nil {
		return drawnRun{}, fmt.Errorf("%s, seed %d: %w", l.Name(), run.Seed, err)
	}
	struck := draw.Coverage{}
	for _, c := range seen.Coverage {
		struck[c.Cell] += c.Hits
	}
	return drawnRun{run.Verdicts, struck}, nil
}
