package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/search/cross"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// ofUses are the scenarios for the further uses of the reference lock. The built-in
// locks play all of them.
var ofUses = []string{
	"contention", "slow-holder", "holder-crash", "closed-while-held", "released-by-shutdown", "extended-hold", "extended-too-late",
	"pause-between-commands", "cancelled-waiters", "cancelled-release", "kept-away", "lost-release-reply", "down-at-release", "late-release",
	"deleted-between-renewals", "one-of-two-deleted", "member-out-of-reach", "lost-member",
	"reentrancy", "lost-nested-reply", "lost-inner-release-reply", "unanswered-inner-release",
}

// catalogueJobs are one run of each built-in scenario with each lock that it applies to.
// Some scenarios have one with each further use of the reference lock.
func catalogueJobs(locks, uses []*locks.Lock, seed uint64) ([]suite.Job, error) {
	list, err := suite.Pick(nil)
	if err != nil {
		return nil, err
	}
	some, err := suite.Pick(ofUses)
	if err != nil {
		return nil, err
	}
	plan := suite.Plan{Options: suite.Options{World: suite.Sim{}, Seeds: 1}}
	for _, s := range list {
		if err := plan.Add(s, locks, seed); err != nil {
			return nil, err
		}
	}
	for _, s := range some {
		if err := plan.Add(s, uses, seed); err != nil {
			return nil, err
		}
	}
	return plan.Jobs, nil
}

// drawJobs are the given numbers of crossed workloads and of random scenarios for each
// lock. Every second random one has only faults that the reference lock survives, so that
// each violation is the mutant's.
func drawJobs(under []*locks.Lock, seed uint64, crossed, each int) ([]suite.Job, error) {
	var jobs []suite.Job
	add := func(s *scenarios.Scenario, l *locks.Lock, seed uint64) error {
		source, err := s.YAML()
		jobs = append(jobs, suite.Job{Scenario: s.Name, File: s.Name + ".yaml", Source: string(source), Lock: l.Name(), Seed: seed})
		return err
	}
	for _, l := range under {
		for _, s := range cross.New(l, seed, crossed/l.Groups).Rows {
			if err := add(s, l, seed); err != nil {
				return nil, err
			}
		}
	}
	for _, survivable := range []bool{true, false} {
		v, err := draw.NewVocabulary(nil, nil, survivable)
		if err != nil {
			return nil, err
		}
		holes := draw.Coverage{}.Holes(v.Faults)
		for _, l := range under {
			for i := range each {
				if (i%2 == 0) != survivable {
					continue
				}
				s, err := draw.Scenario(l, seed+uint64(i), v, holes)
				if err != nil {
					return nil, err
				}
				if err := add(s, l, seed+uint64(i)); err != nil {
					return nil, err
				}
			}
		}
	}
	return jobs, nil
}

// choice says which mutants are played.
type choice struct {
	Files     []string // or folders, which end with a slash; empty for all
	Operators []string // empty for all
	Sample    int      // the size of a sample drawn by Seed; 0 for all
	Seed      uint64
	Shard     suite.Shard // of those
}

// choose returns the chosen mutants, in their order.
func (c choice) choose(all []*Mutant) []*Mutant {
	var some []*Mutant
	for _, m := range all {
		isIn := func(place string) bool {
			return place == m.File || strings.HasSuffix(place, "/") && strings.HasPrefix(m.File, place)
		}
		if (len(c.Files) == 0 || slices.ContainsFunc(c.Files, isIn)) && (len(c.Operators) == 0 || slices.Contains(c.Operators, m.Operator)) {
			some = append(some, m)
		}
	}
	if c.Sample > 0 && c.Sample < len(some) {
		some = sample(some, random.Stream(c.Seed, "mutants"), c.Sample)
	}
	var mine []*Mutant
	for i := c.Shard.Index - 1; i < len(some); i += c.Shard.Of {
		mine = append(mine, some[i])
	}
	return mine
}

// sample draws n of the mutants, in their order.
func sample(all []*Mutant, rng *rand.Rand, n int) []*Mutant {
	drawn := rng.Perm(len(all))[:n]
	slices.Sort(drawn)
	some := make([]*Mutant, n)
	for i, at := range drawn {
		some[i] = all[at]
	}
	return some
}
