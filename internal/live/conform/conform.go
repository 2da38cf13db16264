// Package conform checks an adapter against docs/adapter-protocol.md: every check
// is a sentence of that page. It starts the adapter's processes and healthy
// servers, and sends the requests of a run, and some that only a later version
// would send.
//
// Its results concern the adapter, and the promises that a lock must keep without
// faults. A run tests the lock under faults.
package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Options say what is checked, and where.
type Options struct {
	// Command is that of the adapter. It is started in directories of its own: names of
	// files must be absolute.
	Command []string
	// Backend selects the servers.
	Backend servers.Backend
	// Dir is where servers and processes run; it must exist.
	Dir string
	// Locks are those to check, by name; none means all that it describes.
	Locks []string
	// Checks are those to carry out, by name, beside those that all others need; none
	// means all.
	Checks []string
	// Lease is the lease of the locks; 0 means [DefaultLease].
	Lease time.Duration
	// Patience is the time that the adapter may take for an answer that has to wait for
	// nothing, [DefaultPatience] when 0. Its start may take three times that.
	Patience time.Duration
	// Heard gets every result, when it is not nil. lock is nil for those of the adapter
	// itself.
	Heard func(lock *locks.Description, r Result)
}

// The defaults of Options.
const (
	DefaultLease    = 2 * time.Second
	DefaultPatience = 10 * time.Second
)

type Status string

// The outcomes of a check.
const (
	OK         Status = "ok"
	Failed     Status = "failed"
	NotClaimed Status = "not claimed" // the lock does not promise it
	NotTried   Status = "not tried"   // what it needs has failed
)

type Result struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	// Reason says why it has failed or was not tried, or what is worth knowing
	// about a success.
	Reason string `json:"reason,omitempty"`
	// Contract is the sentence of docs/adapter-protocol.md that it is about.
	Contract string `json:"contract"`
}

type LockReport struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Results []Result `json:"results"`
}

// Report has the results of all checks: those of the adapter itself, and those of its
// locks.
type Report struct {
	Worker []Result     `json:"worker"`
	Locks  []LockReport `json:"locks"`
}

func (r Report) Count(s Status) int {
	return len(slices.DeleteFunc(r.all(), func(one Result) bool { return one.Status != s }))
}

func (r Report) all() []Result {
	all := slices.Clone(r.Worker)
	for _, l := range r.Locks {
		all = append(all, l.Results...)
	}
	return all
}

// UnknownLockError says that a lock is to be checked which the adapter does not describe.
type UnknownLockError struct {
	Lock string
	Has  []string // what it describes
}

func (e *UnknownLockError) Error() string {
	return fmt.Sprintf("the worker has no lock %q", e.Lock)
}

// Check checks an adapter. Its mistakes are in the report; an error is an
// [*UnknownLockError], the end of ctx, or means that the checks themselves could not be
// carried out.
func Check(ctx context.Context, o Options) (Report, error) {
	o.Lease, o.Patience = cmp.Or(o.Lease, DefaultLease), cmp.Or(o.Patience, DefaultPatience)
	var report Report
	locks, results, err := checkWorker(ctx, o)
	report.Worker = results
	if err != nil {
		return report, err
	}
	if locks, err = pick(locks, o.Locks); err != nil {
		return report, err
	}
	for _, d := range locks {
		l, err := checkLock(ctx, o, d)
		report.Locks = append(report.Locks, l)
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// pick finds the locks that are named; none means all.
func pick(described []locks.Description, names []string) ([]locks.Description, error) {
	if len(names) == 0 || len(described) == 0 {
		return described, nil
	}
	var picked []locks.Description
	for _, name := range names {
		i := slices.IndexFunc(described, func(d locks.Description) bool { return d.Name == name })
		if i < 0 {
			return nil, &UnknownLockError{name, english.Words(described, func(d locks.Description) string { return d.Name })}
		}
		picked = append(picked, described[i])
	}
	return picked, nil
}

func checkLock(ctx context.Context, o Options, d locks.Description) (report LockReport, err error) {
	report = LockReport{Name: d.Name, Version: d.Version}
	if own := d.Servers; own != nil {
		if own.Missing != "" {
			return report, errors.New(own.Missing)
		}
		o.Backend = servers.Backend{Bundled: servers.Bundle(o.Command, own)}
	}
	world, err := live.NewWorld(ctx, live.WorldOptions{Options: servers.Options{Backend: o.Backend, Clients: mostProcesses, Groups: d.Groups(), Dir: o.Dir}})
	if err != nil {
		return report, fmt.Errorf("start servers: %w", err)
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	s := &stage{ctx: ctx, opts: o, lock: d, world: world}
	report.Results = s.play()
	return report, errors.Join(ctx.Err(), s.err, world.Err())
}
