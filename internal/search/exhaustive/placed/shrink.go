package placed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// shrinkRuns is the number of runs that one find may take to become small.
const shrinkRuns = 1000

// Shrinking returns what makes the finds of a lock small, for [exhaustive.Results.Shrink].
func Shrinking(lock string, runner suite.Runner) func(context.Context, *exhaustive.Cause) (*exhaustive.Shrunk, error) {
	return func(ctx context.Context, c *exhaustive.Cause) (*exhaustive.Shrunk, error) {
		left, err := shrunk(ctx, c, lock, runner)
		var flaky *shrink.FlakyError
		if errors.As(err, &flaky) || errors.Is(err, shrink.ErrNotViolated) {
			err = fmt.Errorf("%w: %w", exhaustive.ErrNotAgain, err)
		}
		return left, err
	}
}

func shrunk(ctx context.Context, c *exhaustive.Cause, lock string, runner suite.Runner) (*exhaustive.Shrunk, error) {
	name := c.First + ".yaml"
	s, err := scenarios.Parse(name, []byte(c.Source))
	if err != nil {
		return nil, err
	}
	run := &shrink.Run{Scenario: s, Source: []byte(c.Source), Lock: lock, Seed: exhaustive.Seed, Runner: runner,
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
	to := c.First + ".shrunk.yaml"
	told, err := run.Report(ctx, left, shrink.Output{Scenario: filepath.Join(dir, to)})
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
	return &exhaustive.Shrunk{Faults: exhaustive.Hazards(left.Scenario.Faults), Before: told.Stats.Before, Size: told.Stats.After, Reason: told.Reason,
		Source: string(source), Story: strings.ReplaceAll(story.String(), told.File, to)}, nil
}
