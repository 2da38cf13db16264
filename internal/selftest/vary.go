package selftest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Variations are seeds to play. Each seed is one variation of one scenario with
// one lock.
type Variations struct {
	Cells []suite.Job // one of each scenario and lock, with the scenario's source
	Seed  uint64      // the first
	Seeds int
	// Out is an existing directory for the scenarios and histories of seeds with
	// unexpected verdicts; empty for none.
	Out string

	scenarios map[string]*scenarios.Scenario
}

// Play plays the variations, calls step after each, and writes unexpected ones to
// Out. When ctx ends, the tally counts the finished runs.
func (v Variations) Play(ctx context.Context, pool workers.Pool, step func()) (*Tally, error) {
	v.scenarios = map[string]*scenarios.Scenario{}
	for _, j := range v.Cells {
		s, err := scenarios.Parse(j.File, []byte(j.Source))
		if err != nil {
			return nil, err
		}
		v.scenarios[j.Scenario] = s
	}
	t := newTally(v)
	began := time.Now()
	var failed error // to write a variation; it ends the sequence
	err := pool.Stream(ctx, v.Seeds, v.jobs(&failed), func(a suite.Answer) {
		t.add(a)
		step()
	})
	t.WallMS = float64(time.Since(began).Milliseconds())
	t.finish()
	if err := cmp.Or(err, failed); err != nil {
		return nil, err
	}
	return t, v.keep(t.Surprises)
}

// cell is the pair of scenario and lock of a seed. It depends on the seed alone,
// so that a part of the seeds plays the same pairs as all of them.
func (v Variations) cell(seed uint64) suite.Job { return v.Cells[seed%uint64(len(v.Cells))] }

// source is the varied scenario of a seed, as a file.
func (v Variations) source(seed uint64) ([]byte, error) {
	return vary(v.scenarios[v.cell(seed).Scenario], seed).YAML()
}

func (v Variations) jobs(failed *error) iter.Seq[suite.Job] {
	return func(yield func(suite.Job) bool) {
		for i := range v.Seeds {
			seed := v.Seed + uint64(i)
			j := v.cell(seed)
			src, err := v.source(seed)
			if err != nil {
				*failed = err
				return
			}
			j.ID, j.Seed, j.Source, j.Judge, j.Surprise = i, seed, string(src), true, true
			j.File = fmt.Sprintf("%s (variation %d)", j.File, seed)
			if v.Out != "" {
				j.Path = variationPath(j.Scenario, j.Lock, seed) + ".jsonl"
				j.History = suite.Dir(v.Out).File(j.Path)
			}
			if !yield(j) {
				return
			}
		}
	}
}

func variationPath(scenario, lock string, seed uint64) string {
	return fmt.Sprintf("%s-%s-seed-%d", scenario, lock, seed)
}

// keep writes the varied scenarios of seeds with unexpected verdicts. It removes
// a directory that stayed empty.
func (v Variations) keep(found []surprise) error {
	if v.Out == "" {
		return nil
	}
	if len(found) == 0 {
		_ = os.Remove(v.Out) // unless something else is in it
		return nil
	}
	for _, s := range found {
		src, err := v.source(s.Seed)
		if err != nil {
			return fmt.Errorf("write variation: %w", err)
		}
		path := suite.Dir(v.Out).File(variationPath(s.Scenario, s.Lock, s.Seed) + ".yaml")
		if err := os.WriteFile(path, src, 0o644); err != nil {
			return fmt.Errorf("write variation: %w", err)
		}
	}
	return nil
}
