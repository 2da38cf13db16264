package main

import (
	"fmt"
	"maps"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/lock/gallery"
	"github.com/holdfast-go/holdfast/scenarios"
)

// A mutant sends other messages than its original, or takes other times for
// them, and a scenario may be a matter of luck for both: what one of them does
// with one seed proves nothing. So both play a scenario again with other
// seeds, in all besideSeeds times. What the mutant does wrong at least
// besideMost times, and the original never, is the mutant's mistake.
const (
	besideSeeds = 10
	besideMost  = 5
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

// onlyMutant leaves those violations that none of the originals has. What comes out unknown with the original counts as violated
// there, and so does any violation of exclusion where the mutant's is that of a
// lease outlived.
func onlyMutant(verdicts map[checker.Property]checker.Verdict, s *scenarios.Scenario, mutant *scenarios.Subject, originals []*scenarios.Subject, seed uint64) error {
	maps.DeleteFunc(verdicts, func(_ checker.Property, v checker.Verdict) bool { return v.Outcome != checker.Violated })
	times := map[checker.Property]int{}
	for n := range besideSeeds {
		for _, l := range originals {
			if len(verdicts) == 0 {
				return nil
			}
			theirs, err := playAgain(s, l, seed+uint64(n))
			if err != nil {
				return err
			}
			maps.DeleteFunc(verdicts, func(p checker.Property, v checker.Verdict) bool { return shows(theirs[p], v) })
		}
		if len(verdicts) == 0 {
			return nil
		}
		again, err := playAgain(s, mutant, seed+uint64(n))
		if err != nil {
			return err
		}
		maps.DeleteFunc(verdicts, func(p checker.Property, v checker.Verdict) bool {
			if o := again[p]; o.Outcome == checker.Violated && o.Class == v.Class {
				times[p]++
			}
			return times[p]+besideSeeds-1-n < besideMost
		})
	}
	return nil
}

// shows says that a verdict on the original takes the meaning from one on the
// mutant.
func shows(original, mutant checker.Verdict) bool {
	worse := mutant.Class == checker.ContractBroken && original.Class == checker.LeaseOutlived
	return original.Outcome != checker.Good && !worse
}

// playAgain plays and judges a drawn scenario.
func playAgain(s *scenarios.Scenario, l *scenarios.Subject, seed uint64) (map[checker.Property]checker.Verdict, error) {
	p, err := scenarios.Play(s, l, seed, version)
	if err != nil {
		return nil, fmt.Errorf("%s with %s, seed %d: %w", s.Name, l.Name(), seed, err)
	}
	judged, err := checker.Judge(explore.Judged(p), checker.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s with %s, seed %d: %w", s.Name, l.Name(), seed, err)
	}
	return judged.Verdicts, nil
}
