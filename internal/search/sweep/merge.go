package sweep

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

const kindName = "sweep"

const pictureFile = "sweep.svg"

// Kind stores, reads and merges sweeps.
var Kind = search.Kind[*Result]{
	Name:     kindName,
	Patterns: []string{pictureFile},
	Write: func(dir suite.Dir, r *Result) error {
		picture, err := r.Picture()
		if err != nil {
			return err
		}
		return disk.Bytes(dir.File(pictureFile), picture)
	},
}

func (r *Result) About() []search.Option {
	return []search.Option{{Name: "scenario", Value: r.Source}, {Name: "lock", Value: r.Lock}, {Name: "list of parameters", Value: r.Over}, {Name: "first seed", Value: r.Seed}, {Name: "number of seeds", Value: r.Seeds}}
}

func (r *Result) Parts() []*Result {
	if len(r.Shards) > 0 {
		return r.Shards
	}
	alone := *r
	alone.Points = nil
	return []*Result{&alone}
}

func (r *Result) Sum(e search.Envelope, shards []*Result) *Result {
	all := *r
	all.Envelope, all.Shards, all.Boundaries = e, shards, nil
	if e.Of == 1 {
		all.Boundaries = r.Boundaries
	}
	counts := make([]Count, len(r.Counts))
	for _, s := range shards {
		for i, c := range s.Counts {
			counts[i] = counts[i].plus(c)
		}
	}
	all.take(counts)
	return &all
}

func (r *Result) Files() []string { return []string{pictureFile} }

// Flaws implements [search.Results]. A sweep with a defect is not stored as whole.
func (r *Result) Flaws() []string { return nil }

func (r *Result) Played() int {
	n := 0
	for _, c := range r.Counts {
		n += c.Runs
	}
	return n
}

func (r *Result) Whole() bool {
	each := suite.Shard{Index: r.Shard, Of: r.Of}.Size(r.Seeds)
	return !r.Interrupted && !slices.ContainsFunc(r.Counts, func(c Count) bool { return c.Runs != each })
}

// Exceeds implements [search.Results]. Two plays that were interrupted may have played
// other runs.
func (r *Result) Exceeds(longer *Result) string {
	if !longer.Whole() {
		return ""
	}
	for i, c := range r.Counts {
		if d := longer.Counts[i]; c.Overlaps > d.Overlaps || c.Lost > d.Lost || c.OverlapsUnknown > d.OverlapsUnknown || c.LostUnknown > d.LostUnknown {
			return fmt.Sprintf("the count at point %d", i+1)
		}
	}
	return ""
}

// Check implements [search.Results]. It computes the derived fields anew.
func (r *Result) Check() error {
	s, err := scenarios.Parse(r.Scenario+".yaml", []byte(r.Source))
	if err != nil {
		return err
	}
	if r.plan, err = NewPlan(s, r.Over); err != nil {
		return err
	}
	points := len(r.plan.Points())
	for _, s := range append(slices.Clone(r.Shards), r) {
		if len(s.Counts) != points {
			return fmt.Errorf("shard %d has %d counts for %d points", s.Shard, len(s.Counts), points)
		}
		s.plan = r.plan
	}
	r.take(r.Counts)
	return nil
}
