package main

import (
	"context"
	"io"

	"github.com/holdfast-go/holdfast/reports"
)

// outcome is what came of all jobs.
type outcome struct {
	runs    []reports.Run
	defects []string // of holdfast itself
	output  string   // the first history that could not be written, and why
	err     error    // the workers could not be run at all
	stopped bool     // interrupted
}

// execute plays the jobs in the world that is asked for.
func execute(ctx context.Context, jobs []job, dir runDir, f runFlags, stderr io.Writer) outcome {
	for i := range jobs {
		jobs[i].Path = historyPath(jobs[i].Scenario, jobs[i].Lock, jobs[i].Seed)
		jobs[i].History = dir.file(jobs[i].Path)
	}
	if f.world == worldLive {
		return executeLive(ctx, jobs, dir, f, stderr)
	}
	return executeSim(ctx, jobs, f, stderr)
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
