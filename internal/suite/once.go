package suite

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Keep decides whether and where to store the history of a run.
type Keep struct {
	// Judge asks for verdicts also where the history is not stored.
	Judge bool
	// File is where to write the history, empty for nowhere; Path is the same,
	// relative to the run directory.
	File, Path string
	// Surprise writes the history only when a verdict is not as expected.
	Surprise bool
}

// StoreError reports that a history could not be written. The verdicts remain
// valid.
type StoreError struct{ Err error }

// Error implements error.
func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the writing.
func (e *StoreError) Unwrap() error { return e.Err }

// Once plays a scenario with a lock once, judges the history, compares the
// verdicts with the expected ones, and stores the history. All commands and tests
// play their runs with Once. It stores the facts in run. Its error is a
// [*StoreError], or a defect of the scenario or of Holdfast. Once returns the play
// also with a later error.
func Once(run *results.Run, s *scenarios.Scenario, l *locks.Subject, player func() (*play.Played, error), keep Keep) (*play.Played, error) {
	began := time.Now()
	p, err := player()
	if err != nil {
		return nil, err
	}
	Record(run, p)
	if keep.File == "" && !keep.Judge {
		return p, nil
	}
	err = Judge(run, s, l, p.History)
	if keep.File != "" && !(keep.Surprise && run.AsExpected) {
		if failed := Store(keep.File, p.History); failed == nil {
			run.History = keep.Path
		} else if err == nil {
			err = &StoreError{failed}
		}
	}
	run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return p, err
}
