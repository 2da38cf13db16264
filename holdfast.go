// Package holdfast plays failures against distributed locks on Redis, records
// what happens, and judges the record. It is the table of contents of the
// project: each function is a call into package suite.
//
//	res, err := holdfast.Run(ctx, holdfast.Options{Scenarios: []string{"holder-pause"}, Locks: []string{"reentrant"}})
//
// For a lock of your own see package locktest; for the lock that Holdfast ships
// see package lock; for everything on the command line see cmd/holdfast.
package holdfast

import (
	"context"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/suite"
)

// Options say what [Run] plays. The zero value is the whole catalogue against
// every built-in lock.
type Options = suite.Options

// Results are what [Run] found out: every run with its verdicts, as the file
// results.json of a run directory has them.
type Results = results.Results

// Replayed is a run that [Replay] played again.
type Replayed = suite.Replayed

// Verdicts are what the judges say about one history.
type Verdicts = checker.Report

// Run plays scenarios against locks in virtual time, in this process unless
// Options.Runner says otherwise, and judges what happened. The same options give
// the same histories, to the bit. Only one Run or [Replay] may go on in a process
// at a time. The error is about the options, or a defect of Holdfast; verdicts
// that are not as expected are in the results.
func Run(ctx context.Context, o Options) (Results, error) { return suite.Run(ctx, o) }

// Judge judges a recorded history: whether each property that the lock claims
// held. Its error is a [*history.InvalidError], or that of two judges that
// disagree. Judge may be called concurrently.
func Judge(h *history.History) (Verdicts, error) { return checker.Judge(h, checker.Options{}) }

// ReadHistory reads a history that a run has stored, gzipped or not.
func ReadHistory(path string) (*history.History, error) { return suite.ReadHistory(path) }

// Replay plays the runs of a run directory again, in this process and in virtual
// time, and says of each whether the same history came of it.
func Replay(ctx context.Context, dir string) ([]Replayed, error) {
	return suite.Dir(dir).Replay(ctx, suite.Here{})
}
