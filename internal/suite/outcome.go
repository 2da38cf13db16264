package suite

import (
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Outcome is the outcome of all jobs.
type Outcome struct {
	Planned []string // the histories of all jobs
	Runs    []results.Run
	Defects []string // of holdfast itself
	Output  string   // the first history that could not be written, and why
	Err     error    // the workers could not be run at all
	Stopped bool     // interrupted
}

// Results is the outcome as a document. command repeats it. A planned run without
// a result is pending.
func (o Outcome) Results(command string, skipped []results.Skip) results.Results {
	res := results.Results{Schema: results.Schema, Version: version.Holdfast, Command: command, Runs: o.Runs, Skipped: skipped}
	res.Pending = Pending(o.Planned, o.Runs)
	res.Interrupted = o.Stopped || len(res.Pending) > 0
	res.Summary = results.Summarize(res.Runs)
	return res
}

// Take adds the outcome of one job.
func (o *Outcome) Take(a Answer) {
	if a.Defect != "" {
		o.Defects = append(o.Defects, a.Defect)
		if a.Run.Failure == "" {
			a.Run.Failure = a.Defect
		}
		a.Run.AsExpected = false
	}
	if a.Output != "" && o.Output == "" {
		o.Output = a.Output
	}
	o.Runs = append(o.Runs, a.Run)
}
