package suite

import (
	"github.com/holdfast-go/holdfast/results"
)

// Outcome is what came of all jobs.
type Outcome struct {
	Planned []string // the histories of all jobs
	Runs    []results.Run
	Defects []string // of holdfast itself
	Output  string   // the first history that could not be written, and why
	Err     error    // the workers could not be run at all
	Stopped bool     // interrupted
}

// Take adds what came of one job.
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
