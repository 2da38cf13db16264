package shrink

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Placements makes the finds of exhaustive placement as small as they can be. It calls
// progress before each. When ctx ends it leaves the rest as they are.
func Placements(ctx context.Context, r *exhaustive.Results, runner suite.Runner, progress func(string)) error {
	wanted := func(c *exhaustive.Cause) bool { return c.Source != "" && c.Class != search.NeverEnded }
	small := func(ctx context.Context, c *exhaustive.Cause) (*search.Shrunk, error) {
		return placement(ctx, c, r.Lock, runner)
	}
	defects, err := search.ShrinkFinds(ctx, search.Pointers(r.Violated), wanted, small, progress)
	r.Defects = append(r.Defects, defects...)
	return err
}

// placement makes one find small. The document of the search has its files in it.
func placement(ctx context.Context, c *exhaustive.Cause, lock string, runner suite.Runner) (*search.Shrunk, error) {
	s, err := scenarios.Parse(c.First+".yaml", []byte(c.Source))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdfast-exhaustive-")
	if err != nil {
		return nil, fmt.Errorf("shrink: %w", err)
	}
	defer os.RemoveAll(dir)
	name := c.First + ".shrunk.yaml"
	run := &Run{Scenario: s, Source: []byte(c.Source), Lock: lock, Seed: exhaustive.Seed, Runner: runner,
		Target: Target{Property: c.Property, Class: c.Verdict, Avoidable: true}}
	left, told, err := Find(ctx, []*Run{run}, Output{Scenario: filepath.Join(dir, name)})
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
	left.Class, left.Source, left.StoryText = c.Class, string(source), strings.ReplaceAll(story.String(), told.File, name)
	return left, nil
}
