package main

import (
	"context"
	"io"

	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/suite"
)

// outcome is what came of all jobs.
type outcome struct {
	planned []string // the histories of all jobs
	runs    []results.Run
	defects []string // of holdfast itself
	output  string   // the first history that could not be written, and why
	err     error    // the workers could not be run at all
	stopped bool     // interrupted
}

// execute plays the jobs in the world that is asked for.
func execute(ctx context.Context, jobs []job, dir suite.Dir, f runFlags, stderr io.Writer) outcome {
	for i := range jobs {
		jobs[i].Path = suite.HistoryPath(jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed)
		jobs[i].History = dir.File(jobs[i].Path)
	}
	var o outcome
	if f.world == worldLive {
		o = executeLive(ctx, jobs, dir, f, stderr)
	} else {
		o = executeSim(ctx, jobs, f, stderr)
	}
	o.planned = histories(jobs)
	return o
}

// take adds what came of one job.
func (o *outcome) take(a answer) {
	if a.Defect != "" {
		o.defects = append(o.defects, a.Defect)
		if a.Run.Failure == "" {
			a.Run.Failure = a.Defect
		}
		a.Run.AsExpected = false
	}
	if a.Output != "" && o.output == "" {
		o.output = a.Output
	}
	o.runs = append(o.runs, a.Run)
}
