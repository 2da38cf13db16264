package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/lock/gallery"
	"github.com/holdfast-go/holdfast/scenarios"
)

// A mutant sends other messages than its original, or takes other times for
// them, so a fault that is aimed at a message strikes something else, and a
// scenario may be a matter of luck for both: what one of them does with one
// seed proves nothing. So both play a scenario again with other seeds, in all
// besideSeeds times. What the mutant does wrong at least besideMost times, with
// faults that struck in the same phases as with the original, and what the
// original never does, is the mutant's mistake.
const (
	besideSeeds = 8
	besideMost  = 4
)

// keepMistakes leaves of the verdicts on a run those violations that are the
// mutant's mistake.
func keepMistakes(verdicts map[checker.Property]checker.Verdict, s *scenarios.Scenario, mutant *scenarios.Subject, seed uint64) error {
	m, ok := gallery.Find(mutant.Name())
	if !ok {
		return fmt.Errorf("%s is no mutant", mutant.Name())
	}
	originals, err := scenarios.Originals(m)
	if err != nil {
		return err
	}
	return onlyMutant(verdicts, s, mutant, originals, seed)
}

// onlyMutant leaves those violations that none of the originals has. What
// comes out unknown with an original counts as violated there, and so does any
// violation of exclusion where the mutant's is that of a lease outlived.
func onlyMutant(verdicts map[checker.Property]checker.Verdict, s *scenarios.Scenario, mutant *scenarios.Subject, originals []*scenarios.Subject, seed uint64) error {
	drop := func(when func(checker.Property, checker.Verdict) bool) { maps.DeleteFunc(verdicts, when) }
	drop(func(_ checker.Property, v checker.Verdict) bool { return v.Outcome != checker.Violated })
	struck := explore.Coverage{} // with the originals
	var runs []drawnRun          // of the mutant
	for n := range besideSeeds {
		for _, l := range originals {
			if len(verdicts) == 0 {
				return nil
			}
			r, err := playAgain(s, l, seed+uint64(n))
			if err != nil {
				return err
			}
			struck.Add(r.struck)
			drop(func(p checker.Property, v checker.Verdict) bool { return shows(r.verdicts[p], v) })
		}
		if len(verdicts) == 0 {
			return nil
		}
		r, err := playAgain(s, mutant, seed+uint64(n))
		if err != nil {
			return err
		}
		runs = append(runs, r)
		drop(func(p checker.Property, v checker.Verdict) bool {
			return len(again(runs, p, v))+besideSeeds-len(runs) < besideMost
		})
	}
	drop(func(p checker.Property, v checker.Verdict) bool {
		alike := slices.DeleteFunc(again(runs, p, v), func(r drawnRun) bool { return !inside(r.struck, struck) })
		return len(alike) < besideMost
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

// inside says whether all cells of one coverage are hit in the other.
func inside(some, all explore.Coverage) bool {
	for cell := range some {
		if all[cell] == 0 {
			return false
		}
	}
	return true
}

// shows says that a verdict on the original takes the meaning from one on the
// mutant.
func shows(original, mutant checker.Verdict) bool {
	worse := mutant.Class == checker.ContractBroken && original.Class == checker.LeaseOutlived
	return original.Outcome != checker.Good && !worse
}

// drawnRun is what a drawn scenario has shown.
type drawnRun struct {
	verdicts map[checker.Property]checker.Verdict
	struck   explore.Coverage
}

func playAgain(s *scenarios.Scenario, l *scenarios.Subject, seed uint64) (drawnRun, error) {
	p, err := scenarios.Play(s, l, seed, version)
	if err != nil {
		return drawnRun{}, fmt.Errorf("%s with %s, seed %d: %w", s.Name, l.Name(), seed, err)
	}
	judged, err := checker.Judge(explore.Judged(p), checker.Options{})
	if err != nil {
		return drawnRun{}, fmt.Errorf("%s with %s, seed %d: %w", s.Name, l.Name(), seed, err)
	}
	return drawnRun{judged.Verdicts, explore.Cover(p.History)}, nil
}
