package exhaustive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/explore/cause"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/shrink"
	"github.com/holdfast-go/holdfast/suite"
)

// shrinkRuns is how many runs one find may take to become small.
const shrinkRuns = 1000

// Shrink makes the finds as small as they can be, those with the fewest faults
// first, and leaves out those that an earlier one explains: the same went wrong
// after some of the same faults. It calls progress before each. When ctx ends it
// leaves the rest as they are.
func (r *Results) Shrink(ctx context.Context, runner suite.Runner, progress func(string)) error {
	for _, i := range simple(r.Violated) {
		c := &r.Violated[i]
		explain(r.Violated)
		if c.Under != "" || c.Shrunk != nil || c.Source == "" || c.Class == "never ended" {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		progress("shrinking: " + string(c.Property) + " after " + strings.Join(c.Faults, ", "))
		small, err := c.shrink(ctx, runner, r.Lock)
		var flaky *shrink.FlakyError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &flaky), errors.Is(err, shrink.ErrNotViolated):
			r.Defects = append(r.Defects, fmt.Sprintf("%s, shrunk: %v", c.First, err))
		case err != nil:
			return fmt.Errorf("shrink %s: %w", c.First, err)
		default:
			c.Shrunk = small
		}
	}
	explain(r.Violated)
	return nil
}

// simple are the places of causes, those with the fewest faults first.
func simple(causes []Cause) []int {
	all := make([]int, len(causes))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cause.Simpler(causes[a].least(), causes[b].least()) })
	return all
}

// explain says of each cause which simpler one explains it.
func explain(causes []Cause) {
	order := simple(causes)
	for k, i := range order {
		causes[i].Under = ""
		for _, j := range order[:k] {
			if causes[j].Under == "" && causes[j].least().Explains(causes[i].least()) {
				causes[i].Under = causes[j].First
				break
			}
		}
	}
}

func (c *Cause) shrink(ctx context.Context, runner suite.Runner, lock string) (*Shrunk, error) {
	s, err := scenarios.Parse(c.First+".yaml", []byte(c.Source))
	if err != nil {
		return nil, err
	}
	run := &shrink.Run{Scenario: s, Source: []byte(c.Source), Lock: lock, Seed: seed, Runner: runner,
		Target: shrink.Target{Property: c.Property, Class: c.Verdict, Avoidable: true}}
	left, err := run.Shrink(ctx, shrink.Options{Runs: shrinkRuns})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdfast-exhaustive-")
	if err != nil {
		return nil, fmt.Errorf("shrink: %w", err)
	}
	defer os.RemoveAll(dir)
	told, err := run.Report(ctx, left, shrink.Output{Scenario: filepath.Join(dir, c.First+".shrunk.yaml")})
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(told.File)
	if err != nil {
		return nil, fmt.Errorf("shrink: %w", err)
	}
	var story strings.Builder
	if err := told.Text(&story); err != nil {
		return nil, err
	}
	return &Shrunk{Faults: hazards(left.Scenario.Faults), Size: told.Stats.After, Reason: told.Reason, Source: string(source),
		Story: strings.ReplaceAll(story.String(), told.File, c.First+".shrunk.yaml")}, nil
}
