package suite

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// StoreError reports that a history could not be written. The verdicts remain
// valid.
type StoreError struct{ Err error }

// Error implements error.
func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the writing.
func (e *StoreError) Unwrap() error { return e.Err }

// Once plays the scenario of a job with a lock once, and judges the history. It compares
// the verdicts with the expected ones, and stores the history where the job says. All
// commands and tests play their runs with Once. It stores the facts in run. Its error is
// a [*StoreError], or a defect of the scenario or of Holdfast. Once returns the play
// also with a later error.
func (j Job) Once(run *results.Run, s *scenarios.Scenario, l *locks.Subject, player func() (*play.Played, error)) (*play.Played, error) {
	began := time.Now()
	p, err := player()
	if err != nil {
		return nil, err
	}
	Record(run, p)
	if j.History == "" && !j.Judge {
		return p, nil
	}
	err = Judge(run, s, l, p.History)
	if j.History != "" && !(j.Surprise && run.AsExpected) {
		if failed := Store(j.History, p.History); failed == nil {
			run.History = j.Path
		} else if err == nil {
			err = &StoreError{failed}
		}
	}
	run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return p, err
}
