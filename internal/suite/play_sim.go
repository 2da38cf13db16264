package suite

import (
	"context"
	"fmt"
)

// resampled is the number of runs that Holdfast plays twice, to check that they are
// deterministic.
const resampled = 12

// Twice is the number of jobs that [PlaySim] plays for a number of runs.
func Twice(runs int) int { return runs + (runs-1)/resampled + 1 }

// PlaySim plays the jobs in virtual time, and a sample of them once more. It
// calls step after each.
func PlaySim(ctx context.Context, jobs []Job, r Runner, step func()) Outcome {
	first := len(jobs)
	for i := (first - 1) % resampled; i < first; i += resampled { // at least one
		again := jobs[i]
		again.ID, again.History, again.Path, again.Judge = first+i, "", "", false // only its hash counts
		jobs = append(jobs, again)
	}
	answers := make([]*Answer, 2*first)
	var o Outcome
	o.Err = r.Play(ctx, jobs, func(a Answer) {
		answers[a.ID] = &a
		step()
	})
	o.Stopped = ctx.Err() != nil
	for i, a := range answers[:first] {
		if a == nil {
			continue // interrupted before it was played
		}
		o.Take(*a)
		if b := answers[first+i]; b != nil && !a.Killed && !b.Killed && b.Run.HistorySHA256 != a.Run.HistorySHA256 {
			o.Defects = append(o.Defects, fmt.Sprintf("not deterministic: %s with %s, seed %d gave two histories, %.12s and %.12s",
				jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed, a.Run.HistorySHA256, b.Run.HistorySHA256))
		}
	}
	return o
}
