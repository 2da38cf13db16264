package sweep

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/internal/suite"
)

// Options say how to play a plan.
type Options struct {
	Plan  *Plan
	File  string   // of the scenario, for error messages
	Over  []string // the axes of the plan, as they were given
	Lock  string
	Seed  uint64 // the first one
	Seeds int    // of all shards, at every point
	Shard suite.Shard
	// Bisect looks for where overlaps begin, as close as Resolution. A part of
	// the shards cannot tell.
	Bisect     bool
	Resolution Value
	Command    string // how to do it again
	Runner     suite.Streamer
	// Play calls Watch before it plays runs, step after each of them, and done
	// after all.
	Watch func(runs int) (step, done func())
}

// Played is a sweep, and what went wrong with it.
type Played struct {
	*Result
	Defects []string // of holdfast itself
	Killed  int      // runs that were left out, because somebody killed their process
}

// Play plays every point of a plan, and then looks for where overlaps begin. The
// result of an interrupted sweep says that it is.
func Play(ctx context.Context, o Options) (*Played, error) {
	r, err := newResult(o)
	if err != nil {
		return nil, err
	}
	p := &Played{Result: r}
	counts, err := p.play(ctx, o, o.Plan.Points())
	if err != nil {
		return nil, err
	}
	p.take(counts)
	if !p.Whole() {
		p.Missing = []int{p.Shard}
	}
	if o.Bisect && o.Shard.Of == 1 && len(p.Defects) == 0 && ctx.Err() == nil {
		if err := p.bisect(ctx, o); err != nil {
			return nil, err
		}
	}
	p.Interrupted = ctx.Err() != nil
	return p, nil
}

func (p *Played) play(ctx context.Context, o Options, points []Point) ([]Count, error) {
	each := o.Shard.Size(o.Seeds)
	counts := make([]Count, len(points))
	step, done := o.Watch(each * len(points))
	defer done()
	var failed error
	err := o.Runner.Stream(ctx, each*len(points), o.jobs(points, &failed), func(a suite.Answer) {
		step()
		switch {
		case a.Defect != "":
			p.Defects = append(p.Defects, fmt.Sprintf("%s with %s, %v, seed %d: %s", a.Run.Scenario, a.Run.Lock, points[a.ID/each], a.Run.Seed, a.Defect))
		case a.Killed:
			p.Killed++
		default:
			counts[a.ID/each].Add(a.Run.Verdicts)
		}
	})
	slices.Sort(p.Defects)
	return counts, cmp.Or(err, failed)
}

// jobs are the runs of some points, one point after the other. A point that has
// no scenario ends the sequence; failed says why.
func (o Options) jobs(points []Point, failed *error) iter.Seq[suite.Job] {
	return func(yield func(suite.Job) bool) {
		each := o.Shard.Size(o.Seeds)
		for i, at := range points {
			s, err := o.Plan.At(at)
			if err != nil {
				*failed = err
				return
			}
			src, err := s.YAML()
			if err != nil {
				*failed = err
				return
			}
			for n := range each {
				j := suite.Job{ID: i*each + n, Scenario: s.Name, File: o.File, Source: string(src), Lock: o.Lock, Seed: o.Shard.Seed(o.Seed, n), Judge: true}
				if !yield(j) {
					return
				}
			}
		}
	}
}

// bisect looks for where overlaps begin, for every value of the second axis. An
// interrupted search finds nothing.
func (p *Played) bisect(ctx context.Context, o Options) error {
	found, err := p.boundaries(o.Resolution, func(at Point) (Count, error) {
		counts, err := p.play(ctx, o, []Point{at})
		switch {
		case err != nil:
			return Count{}, err
		case ctx.Err() != nil:
			return Count{}, ctx.Err()
		}
		return counts[0], nil
	})
	if ctx.Err() != nil {
		err = nil
	}
	p.Boundaries = found
	return err
}
