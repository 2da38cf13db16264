// Package holdfast plays distributed locks on Redis under faults, records every
// operation, and judges the record. Each function calls package suite.
//
//	res, err := holdfast.Run(ctx, holdfast.Options{Scenarios: []string{"holder-pause"}, Locks: []string{"reentrant"}})
//
// To test your own lock, use package locktest. To use the lock that Holdfast
// ships, use package lock. The command is cmd/holdfast.
package holdfast

import (
	"context"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Options select the scenarios, locks and seeds of [Run]. The zero value selects
// the whole catalogue and every built-in lock.
type Options = suite.Options

// Results are the outcome of [Run]: every run with its verdicts, as in
// results.json of a run directory.
type Results = results.Results

// Replayed is a run that [Replay] played again.
type Replayed = suite.Replayed

// Verdicts are the judgement of one history.
type Verdicts = checker.Report

// Run plays scenarios, built-in ones and files, against locks, and judges the histories.
// Unless Options.World is set, it does so in virtual time and in this process. Then the
// same options give the same histories, byte for byte, and only one Run or Replay may be
// active in a process.
//
// Unexpected verdicts are part of the results. The error reports invalid options,
// or a defect of Holdfast.
func Run(ctx context.Context, o Options) (Results, error) { return suite.Run(ctx, o) }

// Judge judges every property that the lock of a recorded history claims. Its
// error is a *history.InvalidError, or reports two judges that contradict each
// other. Judge is safe for concurrent use.
func Judge(h *history.History) (Verdicts, error) { return checker.Judge(h, checker.Options{}) }

// ReadHistory reads a stored history, gzipped or not.
func ReadHistory(path string) (*history.History, error) { return suite.ReadHistory(path) }

// Replay plays the runs of a run directory again, in this process and in virtual time. It
// reports for each whether it gave the same history.
func Replay(ctx context.Context, dir string) ([]Replayed, error) {
	return suite.Dir(dir).Replay(ctx, suite.Here{})
}
