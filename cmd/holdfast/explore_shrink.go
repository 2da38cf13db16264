package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/shrink"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// shrinkRuns is how many runs one find may take to become small. Most take a
// quarter of them.
const shrinkRuns = 1000

// shrinkFinds makes the finds as small as they can be, the simplest first, and
// folds the causes again each time: what is left of a find often explains
// others. Only those that nothing explains are shrunk. When ctx ends it leaves
// the rest as they are.
func (x *exploration) shrinkFinds(ctx context.Context, dir suite.Dir, r *explore.Results, stderr io.Writer) error {
	workers := x.pool().Keeping()
	defer workers.Stop()
	tried := map[string]bool{}
	bar := startProgress(stderr, -1, "shrinking")
	defer bar.done()
	for ctx.Err() == nil {
		i := slices.IndexFunc(r.Causes, func(c explore.Found) bool {
			return c.Under == "" && !c.Known && c.HistorySHA256 != "" && !tried[c.Key]
		})
		if i < 0 {
			return nil
		}
		c := &r.Causes[i]
		tried[c.Key] = true
		bar.now("shrinking: " + c.Cause.String())
		small, err := x.shrinkFind(ctx, workers, dir, *c)
		var flaky *shrink.FlakyError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &flaky), errors.Is(err, shrink.ErrNotViolated):
			r.Defects = append(r.Defects, fmt.Sprintf("seed %d, shrunk: %v", c.FirstSeed, err))
		case err != nil:
			return fmt.Errorf("shrink %s: %w", c.Key, err)
		default:
			c.Shrunk = small
			explore.Fold(r.Causes)
		}
		bar.step()
	}
	return nil
}

// small says whether a find is as small as people can follow.
func small(s shrink.Size) bool { return s.Clients <= 2 && s.Faults <= 2 && s.Ops <= 12 }

// shrinkFind makes one find small, and writes what is left into finds/: the
// scenario, the history, and the story. Where that is still much, it tries other
// runs of the same cause, and takes the one of which the least is left.
func (x *exploration) shrinkFind(ctx context.Context, workers workers.Pool, dir suite.Dir, f explore.Found) (*explore.Shrunk, error) {
	var best *shrinking
	var least shrink.Result
	for _, sample := range x.tally.Samples(f.Key) {
		s, err := scenarios.Parse(f.Key+".yaml", []byte(sample.Source))
		if err != nil {
			return nil, err
		}
		p := &shrinking{flags: shrinkFlags{runs: shrinkRuns}, workers: workers, scenario: s, lock: x.flags.lock, seed: sample.Seed,
			target: shrink.Target{Property: f.Property, Class: f.Class}}
		if err := p.acquit(ctx, []byte(sample.Source)); err != nil {
			return nil, err
		}
		r, err := p.shrink(ctx)
		if err != nil {
			return nil, err
		}
		if best == nil || r.Stats.After.Less(least.Stats.After) {
			best, least = p, r
		}
		if small(least.Stats.After) {
			break
		}
	}
	file := func(ext string) string { return path.Join("finds", f.Key+".shrunk"+ext) }
	best.flags.out, best.history = dir.File(file(".yaml")), dir.File(file(".jsonl"))
	told, err := best.tell(ctx, least)
	if err != nil {
		return nil, err
	}
	if err := writeStory(dir.File(file(".txt")), told); err != nil {
		return nil, err
	}
	return &explore.Shrunk{Cause: told.cause, Seed: told.Seed, Size: told.Stats.After, Reason: told.Reason,
		Scenario: file(".yaml"), History: file(".jsonl"), Story: file(".txt")}, nil
}

func writeStory(path string, s *shrunk) error {
	return whole.File(path, func(w io.Writer) error { return s.print(w, "text") })
}
