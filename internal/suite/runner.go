package suite

import (
	"cmp"
	"context"
	"fmt"
	"iter"
)

// Runner plays jobs in virtual time, in order as far as it can. It gives each
// answer to got, one at a time, as they come. It returns early when ctx ends, and
// abandons the jobs under way.
type Runner interface {
	Play(ctx context.Context, jobs []Job, got func(Answer)) error
}

// Streamer is a Runner that also takes jobs one by one. It asks for the next job when it
// can play it; n is the largest number of jobs.
type Streamer interface {
	Runner
	Stream(ctx context.Context, n int, jobs iter.Seq[Job], got func(Answer)) error
}

// Round plays jobs and returns their answers in the order of the jobs. It numbers
// the jobs from 0.
func Round(ctx context.Context, r Runner, jobs []Job) ([]Answer, error) {
	for i := range jobs {
		jobs[i].ID = i
	}
	answers := make([]Answer, len(jobs))
	err := r.Play(ctx, jobs, func(a Answer) { answers[a.ID] = a })
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("play round: %w", err)
	}
	return answers, nil
}

// KilledError says that a run could not be played, because somebody killed the
// process that played it from outside.
type KilledError struct{ What string }

func (e *KilledError) Error() string { return e.What }
