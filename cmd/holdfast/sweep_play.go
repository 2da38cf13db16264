package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
	"github.com/holdfast-go/holdfast/sweep"
)

// sweeping is a sweep under way.
type sweeping struct {
	plan    *sweep.Plan
	result  *sweep.Result
	file    string
	shard   shard
	flags   sweepFlags
	stderr  io.Writer
	defects []string
	killed  int // runs whose worker was, and which are left out
}

// playJob plays every point. What an interruption leaves is a part that is not
// complete.
func (s *sweeping) play(ctx context.Context) error {
	points := s.plan.Points()
	counts, err := s.playPoints(ctx, points)
	if err != nil {
		return err
	}
	part := sweep.Part{Shard: s.shard.index, Counts: counts, Complete: len(s.defects) == 0}
	for _, c := range counts {
		part.Complete = part.Complete && c.Runs == s.shard.size(s.flags.seeds)
	}
	s.result.Take(part)
	return nil
}

// playPoints plays all seeds of the shard at each of some points.
func (s *sweeping) playPoints(ctx context.Context, points []sweep.Point) ([]sweep.Count, error) {
	each := s.shard.size(s.flags.seeds)
	counts := make([]sweep.Count, len(points))
	bar := newProgress(s.stderr, each*len(points))
	defer bar.done()
	var failed error
	err := workers.Pool{Exe: testOnlyWorker, Workers: s.flags.workers, Stall: s.flags.stall}.Stream(ctx, each*len(points), s.jobs(points, &failed), func(a suite.Answer) {
		bar.step()
		if a.Defect != "" {
			s.defects = append(s.defects, fmt.Sprintf("%s with %s, %v, seed %d: %s", a.Run.Scenario, a.Run.Lock, points[a.ID/each], a.Run.Seed, a.Defect))
			return
		}
		if a.Killed {
			s.killed++
			return
		}
		counts[a.ID/each].Add(a.Run.Verdicts)
	})
	slices.Sort(s.defects)
	if err == nil {
		err = failed
	}
	return counts, err
}

// jobs are the runs of some points, one point after the other; why one could
// not be made ends the sequence.
func (s *sweeping) jobs(points []sweep.Point, failed *error) iter.Seq[suite.Job] {
	return func(yield func(suite.Job) bool) {
		each := s.shard.size(s.flags.seeds)
		for i, at := range points {
			scenario, err := s.plan.At(at)
			if err != nil {
				*failed = err
				return
			}
			src, err := scenario.YAML()
			if err != nil {
				*failed = err
				return
			}
			for n := range each {
				j := suite.Job{ID: i*each + n, Scenario: scenario.Name, File: s.file, Source: string(src), Lock: s.flags.lock,
					Seed: s.shard.seed(s.flags.seed, n), Judge: true}
				if !yield(j) {
					return
				}
			}
		}
	}
}

// boundaries looks for where overlaps begin, for every value of the second
// axis.
func (s *sweeping) boundaries(ctx context.Context) error {
	bs, err := s.result.Boundary(sweep.Value(s.flags.resolution), func(at sweep.Point) (sweep.Count, error) {
		counts, err := s.playPoints(ctx, []sweep.Point{at})
		switch {
		case err != nil:
			return sweep.Count{}, err
		case ctx.Err() != nil:
			return sweep.Count{}, ctx.Err()
		}
		return counts[0], nil
	})
	if ctx.Err() != nil {
		err = nil // what was found so far is left out; the command says that it was interrupted
	}
	s.result.Boundaries = bs
	return err
}
