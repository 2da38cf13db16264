package selftest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A mutant sends other messages than its original, or sends them at other times.
// So a fault that aims at a message strikes something else, and one seed proves
// nothing about the two locks. Both replay a scenario with other seeds, in all
// differentialSeeds times. A violation is the mutant's mistake if the mutant
// shows it at least differentialLeast times and the original never does. The
// faults must have struck in the same phases in both.
const (
	differentialSeeds = 8
	differentialLeast = 4
)

// differentialKind plays a drawn run with a mutant and with its original. It
// gives an [explore.Seen] of the violations that only the mutant has.
const differentialKind = "differential"

func init() { suite.RegisterKind(differentialKind, playDifferential) }

// playDifferential draws, plays and judges one run of a mutant. It keeps the
// violations that the original does not have.
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
	originals, err := locks.Originals(m)
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

// differential is a drawn scenario for a mutant and its originals.
type differential struct {
	scenario  *scenarios.Scenario
	seed      uint64
	mutant    *locks.Lock
	originals []*locks.Lock
	guard     suite.Guard
}

// keepMistakes keeps the violations that are the mutant's mistake. An unknown
// verdict on an original counts as a violation there. So does any violation of
// exclusion, if that of the mutant is an outlived lease.
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

// again are the runs with a violation like v.
func again(runs []drawnRun, p checker.Property, v checker.Verdict) []drawnRun {
	var some []drawnRun
	for _, r := range runs {
		if o := r.verdicts[p]; o.Outcome == checker.Violated && o.Class == v.Class {
			some = append(some, r)
		}
	}
	return some
}

// inside reports whether a coverage hits all of some cells.
func inside(some []draw.Count, all draw.Coverage) bool {
	return !slices.ContainsFunc(some, func(c draw.Count) bool { return all[c.Cell] == 0 })
}

// shows reports whether a verdict on the original excuses one on the mutant.
func shows(original, mutant checker.Verdict) bool {
	worse := mutant.Class == checker.ContractBroken && original.Class == checker.LeaseOutlived
	return original.Outcome != checker.OutcomeOK && !worse
}

type drawnRun struct {
	verdicts map[checker.Property]checker.Verdict
	struck   []draw.Count
}

func (d differential) play(l *locks.Lock, n int) (drawnRun, error) {
	run := results.Run{Lock: l.Name(), Seed: d.seed + uint64(n)}
	seen, _, err := explore.PlayObserved(&run, d.scenario, l, d.guard)
	if err != nil {
		return drawnRun{}, fmt.Errorf("%s, seed %d: %w", l.Name(), run.Seed, err)
	}
	return drawnRun{run.Verdicts, seen.Coverage}, nil
}
