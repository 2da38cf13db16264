package shrink

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/search"
)

// findRuns is the number of runs that one find may take to become small. Most take a
// quarter of them.
const findRuns = 1000

// Find makes the find of a search small, and writes it. If the first of its runs is still
// large then, Find tries the others, and takes the smallest result. The cause of what it
// returns has the faults that are left. An error is [search.ErrNotAgain] where a run did
// not show the violation again.
func Find(ctx context.Context, runs []*Run, out Output) (*search.Shrunk, *Report, error) {
	var best *Run
	var least Result
	for _, run := range runs {
		r, err := run.Shrink(ctx, Options{Runs: findRuns})
		if _, flaky := errors.AsType[*FlakyError](err); flaky || errors.Is(err, ErrNotViolated) {
			err = fmt.Errorf("%w: %w", search.ErrNotAgain, err)
		}
		if err != nil {
			return nil, nil, err
		}
		if best == nil || r.Stats.After.Less(least.Stats.After) {
			best, least = run, r
		}
		if s := least.Stats.After; s.Clients <= 2 && s.Faults <= 2 && s.Ops <= 12 { // as small as people can follow
			break
		}
	}
	told, err := best.Report(ctx, least, out)
	if err != nil {
		return nil, nil, err
	}
	left := &search.Shrunk{Seed: told.Seed, Before: told.Stats.Before, Size: told.Stats.After, Reason: told.Reason}
	left.Property, left.Class, left.Faults = told.Property, told.Class, search.Hazards(least.Scenario.Faults)
	return left, told, nil
}
