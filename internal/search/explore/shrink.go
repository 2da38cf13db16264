package explore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// shrinkRuns is the number of runs that one find may take to become small. Most take a
// quarter of them.
const shrinkRuns = 1000

// shrinkFinds makes the finds as small as they can be, the simplest first. It subsumes
// the causes again each time, because a shrunk find often explains others. Only those
// that nothing explains are shrunk. When ctx ends it leaves the rest as they are.
func (x *Exploration) shrinkFinds(ctx context.Context, dir suite.Dir, r *Results, progress func(string)) error {
	tried := map[string]bool{}
	for ctx.Err() == nil {
		i := slices.IndexFunc(r.Causes, func(c Found) bool {
			return c.Under == "" && !c.Known && c.HistorySHA256 != "" && !tried[c.Key]
		})
		if i < 0 {
			return nil
		}
		c := &r.Causes[i]
		tried[c.Key] = true
		progress("shrinking: " + c.Cause.String())
		small, err := x.shrinkFind(ctx, dir, *c)
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
			Subsume(r.Causes)
		}
	}
	return nil
}

// small reports whether a find is as small as people can follow.
func small(s search.Size) bool { return s.Clients <= 2 && s.Faults <= 2 && s.Ops <= 12 }

// shrinkFind makes one find small, and writes the scenario, the history and the story of
// the smallest run into finds/. If that is still large, it tries other runs of the same
// cause, and takes the smallest result.
func (x *Exploration) shrinkFind(ctx context.Context, dir suite.Dir, f Found) (*Shrunk, error) {
	var best *shrink.Run
	var least shrink.Result
	for _, sample := range x.tally.samples[f.Key] {
		s, err := scenarios.Parse(f.Key+".yaml", []byte(sample.source))
		if err != nil {
			return nil, err
		}
		run := &shrink.Run{Scenario: s, Source: []byte(sample.source), Lock: x.Lock, Seed: sample.seed,
			Target: shrink.Target{Property: f.Property, Class: f.Class}, Runner: x.Runner}
		r, err := run.Shrink(ctx, shrink.Options{Runs: shrinkRuns})
		if err != nil {
			return nil, err
		}
		if best == nil || r.Stats.After.Less(least.Stats.After) {
			best, least = run, r
		}
		if small(least.Stats.After) {
			break
		}
	}
	file := func(ext string) string { return path.Join("finds", f.Key+".shrunk"+ext) }
	told, err := best.Report(ctx, least, shrink.Output{Scenario: dir.File(file(".yaml")), History: dir.File(file(".jsonl")), Kind: observedKind})
	if err != nil {
		return nil, err
	}
	if err := disk.File(dir.File(file(".txt")), told.Text); err != nil {
		return nil, err
	}
	cause, _ := SeenIn(told.Answer).CauseOf(f.Property)
	return &Shrunk{Cause: cause, Seed: told.Seed, Before: told.Stats.Before, Size: told.Stats.After, Reason: told.Reason,
		Scenario: file(".yaml"), History: file(".jsonl"), Story: file(".txt")}, nil
}
