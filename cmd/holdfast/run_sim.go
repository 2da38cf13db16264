package main

import (
	"context"
	"fmt"
	"io"
)

// testOnlyWorker replaces the worker process in tests.
var testOnlyWorker string

// resampled is how many of the runs are played a second time to see that they
// are deterministic: one in so many.
const resampled = 12

// executeSim plays the jobs in virtual time, and a sample of them once more.
func executeSim(ctx context.Context, jobs []job, f runFlags, stderr io.Writer) outcome {
	first := len(jobs)
	for i := (first - 1) % resampled; i < first; i += resampled { // at least one
		again := jobs[i]
		again.ID, again.History, again.Path = first+i, "", ""
		jobs = append(jobs, again)
	}
	bar := newProgress(stderr, len(jobs))
	defer bar.done()
	answers := make([]*answer, 2*first)
	var o outcome
	o.err = pool{exe: testOnlyWorker, workers: f.workers, stall: f.stall}.play(ctx, jobs, func(a answer) {
		answers[a.ID] = &a
		bar.step()
	})
	o.stopped = ctx.Err() != nil
	for i, a := range answers[:first] {
		if a == nil {
			continue // interrupted before it was played
		}
		o.take(*a)
		if b := answers[first+i]; b != nil && !a.killed && !b.killed && b.Run.HistorySHA256 != a.Run.HistorySHA256 {
			o.defects = append(o.defects, fmt.Sprintf("not deterministic: %s with %s, seed %d gave two histories, %.12s and %.12s",
				jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed, a.Run.HistorySHA256, b.Run.HistorySHA256))
		}
	}
	return o
}
