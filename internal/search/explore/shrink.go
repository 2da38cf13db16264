package explore

import (
	"context"
	"path"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// shrinkFinds makes the finds as small as they can be. When ctx ends it leaves the rest as
// they are.
func (x *Exploration) shrinkFinds(ctx context.Context, dir suite.Dir, r *Results, progress func(string)) error {
	small := func(ctx context.Context, f *Found) (*search.Shrunk, error) { return x.shrinkFind(ctx, dir, f) }
	defects, err := search.ShrinkFinds(ctx, search.Pointers(r.Causes), func(f *Found) bool { return !f.Known && f.HistorySHA256 != "" }, small, progress)
	r.Defects = append(r.Defects, defects...)
	Subsume(r.Causes)
	return err
}

// shrinkFind makes one find small, and writes the scenario, the history and the story of
// the smallest run into finds/.
func (x *Exploration) shrinkFind(ctx context.Context, dir suite.Dir, f *Found) (*search.Shrunk, error) {
	var runs []*shrink.Run
	for _, sample := range x.tally.samples[f.Key] {
		s, err := scenarios.Parse(f.Key+".yaml", []byte(sample.source))
		if err != nil {
			return nil, err
		}
		runs = append(runs, &shrink.Run{Scenario: s, Source: []byte(sample.source), Lock: x.Lock, Seed: sample.seed,
			Target: shrink.Target{Property: f.Property, Class: f.Class}, Runner: x.Runner})
	}
	file := func(ext string) string { return path.Join("finds", f.Key+".shrunk"+ext) }
	left, told, err := shrink.Find(ctx, runs, shrink.Output{Scenario: dir.File(file(".yaml")), History: dir.File(file(".jsonl")), Kind: observedKind})
	if err != nil {
		return nil, err
	}
	if err := disk.File(dir.File(file(".txt")), told.Text); err != nil {
		return nil, err
	}
	left.Cause, _ = SeenIn(told.Answer).CauseOf(f.Property)
	left.Scenario, left.History, left.Story = file(".yaml"), file(".jsonl"), file(".txt")
	return left, nil
}
