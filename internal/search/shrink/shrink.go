// Package shrink reduces a scenario that shows a violation: fewer clients,
// operations and faults, shorter faults, rounder numbers. It makes one change at a
// time, plays the result, and keeps the change if the violation is still there.
package shrink

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Target is the violation that must stay.
type Target struct {
	Property checker.Property
	Class    string // of an exclusion violation; empty when any will do
	// Avoidable asks for a violation that the lock could have avoided.
	Avoidable bool
}

// Met reports whether the verdicts of a run show the violation.
func (t Target) Met(verdicts map[checker.Property]checker.Verdict) bool {
	v := verdicts[t.Property]
	return v.Outcome == checker.Violated && (t.Class == "" || v.Class == t.Class) && (!t.Avoidable || v.Faulty())
}

func (t Target) String() string {
	if t.Class == "" {
		return string(t.Property)
	}
	return fmt.Sprintf("%s (%s)", t.Property, t.Class)
}

// Candidate is a scenario to play, as a file, and the seed.
type Candidate struct {
	Source []byte
	Seed   uint64
}

// Outcome is the result of a candidate. One that could not be played, or that is not to
// be kept for a reason of the player's own, has no verdicts.
type Outcome struct {
	Verdicts map[checker.Property]checker.Verdict
	Ops      int // operations that the clients began
}

// Player plays candidates, as many at a time as it can, and returns what came
// of each, in their order.
type Player func(context.Context, []Candidate) ([]Outcome, error)

type Options struct {
	Runs  int                                   // at most so many runs; 0 for 2000
	Moved func(runs int, now search.Size) error // called with every change that is kept; may be nil
	Step  func()                                // called after every run; may be nil
}

const defaultRuns = 2000

// Stats are the cost and the result of the search.
type Stats struct {
	Runs    int         `json:"runs"` // candidates played
	Kept    int         `json:"kept"` // changes kept
	Before  search.Size `json:"before"`
	After   search.Size `json:"after"`
	Steady  bool        `json:"steady"`            // the next four seeds show the violation as well
	Limited bool        `json:"limited,omitempty"` // out of runs, or interrupted: it might be made smaller still
}

// Result is the smallest scenario found, and what it shows.
type Result struct {
	Scenario *scenarios.Scenario
	Seed     uint64
	Verdicts map[checker.Property]checker.Verdict
	Stats    Stats
}

// ErrNotViolated says that there is nothing to shrink.
var ErrNotViolated = errors.New("the violation does not show")

// FlakyError says that the same scenario and seed show the violation only
// sometimes, so that nothing can be learnt from one run.
type FlakyError struct{ Shown, Of int }

func (e *FlakyError) Error() string {
	return fmt.Sprintf("the violation is flaky: the same scenario and seed showed it in %d of %d runs", e.Shown, e.Of)
}

// Shrink makes s smaller for as long as the target is violated when it is played with the
// seed that is returned. The same scenario, seed and answers of the player give the same
// result, however many candidates it plays at a time. If ctx ends, it returns the
// smallest found so far, with Stats.Limited. The result has lost its expectations, but
// for a text that has to be there; see [Tell].
//
// The error is [ErrNotViolated], a [*FlakyError], or one of the player's.
func Shrink(ctx context.Context, s *scenarios.Scenario, seed uint64, target Target, play Player, o Options) (Result, error) {
	o.Runs = cmp.Or(o.Runs, defaultRuns)
	f := &reduction{play: play, target: target, options: o, seen: map[string]bool{}}
	f.now, f.seed = strip(s), seed
	if err := f.confirm(ctx); err != nil {
		return Result{}, err
	}
	f.stats.Before = sizeOf(f.now, f.shown)
	if err := f.run(ctx); err != nil {
		return Result{}, err
	}
	if err := f.confirm(context.WithoutCancel(ctx)); err != nil {
		return Result{}, err
	}
	f.stats.After = sizeOf(f.now, f.shown)
	return Result{Scenario: f.now, Seed: f.seed, Verdicts: f.shown.Verdicts, Stats: f.stats}, nil
}

// strip is a copy of s without what the search does not keep true.
func strip(s *scenarios.Scenario) *scenarios.Scenario {
	c := clone(s)
	c.Expect, c.Needs, c.Only, c.Except, c.Workload.MinGrants = nil, nil, nil, nil, 0
	c.Otherwise = "Nothing is expected."
	return c
}

func sizeOf(s *scenarios.Scenario, o Outcome) search.Size {
	return search.Size{Clients: s.Topology.Clients, Holds: allHolds(s), Ops: o.Ops, Faults: len(s.Faults)}
}
