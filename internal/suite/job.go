package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/goroutines"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Job is one run to play.
type Job struct {
	ID       int    `json:"id"`
	Scenario string `json:"scenario"` // its name
	File     string `json:"file"`     // the scenario's file, for error messages
	Source   string `json:"source"`   // the scenario itself
	Lock     string `json:"lock"`
	Seed     uint64 `json:"seed"`
	// User is the kind of user, where it is another than the scenario's.
	User string `json:"user,omitempty"`
	// Server is the server as it is offered, where it is another than the lock's own.
	Server string `json:"server,omitempty"`
	// History is where to write the history; empty for nowhere, and then only
	// its hash is asked for and nothing is judged, unless Judge says so.
	History string `json:"history,omitempty"`
	Path    string `json:"path,omitempty"` // the same, relative to the run directory
	Judge   bool   `json:"judge,omitempty"`
	// Surprise writes the history only when a verdict is not as expected.
	Surprise bool `json:"surprise,omitempty"`
	// Kind says which player plays the job, see [RegisterKind]; empty for a run of
	// Source. Args are the kind's own arguments.
	Kind string          `json:"kind,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Run is the run of the job in a world, of which nothing has been played.
func (j Job) Run(world string) results.Run {
	r := results.Run{Scenario: j.Scenario, Lock: j.Lock, World: world, Seed: j.Seed, User: j.User, Server: j.Server, File: j.File}
	if source, err := scenarios.Source(j.Scenario); err == nil && string(source) == j.Source {
		r.File = "" // a built-in one
	}
	return r
}

// Answer is the outcome of a job.
type Answer struct {
	ID     int         `json:"id"`
	Run    results.Run `json:"run"`
	Defect string      `json:"defect,omitempty"` // the run is worthless, through a fault of holdfast's own
	Output string      `json:"output,omitempty"` // the history could not be written
	// Out is the additional result of some kinds of jobs.
	Out json.RawMessage `json:"out,omitempty"`
	// Stalled is the way in which the run did not end; empty if it did.
	Stalled goroutines.Kind `json:"stalled,omitempty"`

	Killed    bool `json:"-"` // the worker was, from outside, and again when it was played once more
	Disturbed bool `json:"-"` // the machine was too busy for the run to mean anything
}

// Guard runs what never waits for anything outside the process, and may watch
// whether it goes on.
type Guard func(run func())

// player plays the jobs of one kind. It fills in the answer, which has the job's
// identity already.
type player func(j Job, a Answer, g Guard) Answer

var kinds = map[string]player{"": func(j Job, a Answer, g Guard) Answer {
	a.Play(j, g, j.Simulate)
	return a
}}

// RegisterKind registers a kind of job in every worker process of a program.
// Packages call it in init.
func RegisterKind(name string, p player) { kinds[name] = p }

func PlayJob(j Job, g Guard) Answer {
	a := Answer{ID: j.ID, Run: j.Run("sim")}
	play, known := kinds[j.Kind]
	if !known {
		a.Defect = fmt.Sprintf("unknown kind of job %q", j.Kind)
		return a
	}
	return play(j, a, g)
}

// Simulate is the player for [Answer.Play] that plays in virtual time, with the seed of
// the job.
func (j Job) Simulate(s *scenarios.Scenario, l *locks.Lock) (*play.Played, error) {
	return play.Simulate(s, l, j.Seed, version.Holdfast)
}

// Give puts what a kind of job gives besides into the answer.
func (a *Answer) Give(out any) {
	raw, err := json.Marshal(out)
	if err != nil {
		a.Defect = fmt.Sprintf("encode answer: %v", err)
		return
	}
	a.Out = raw
}

// DecodeAs reads the arguments of a job, or what it gave; nil where there is nothing.
func DecodeAs[T any](raw json.RawMessage) (*T, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("decode job: %w", err)
	}
	return v, nil
}

// Play plays a job with a player, judges the history where the job asks for it,
// and stores it. It returns the scenario and the play, nil after a defect.
func (a *Answer) Play(j Job, g Guard, player func(*scenarios.Scenario, *locks.Lock) (*play.Played, error)) (*scenarios.Scenario, *play.Played) {
	s, err := j.Load()
	if err != nil {
		a.Defect = err.Error()
		return nil, nil
	}
	l, err := locks.Find(j.Lock)
	if err == nil {
		l, err = l.On(j.Server)
	}
	if err != nil {
		a.Defect = err.Error()
		return nil, nil
	}
	p, err := j.Once(&a.Run, s, l, func() (p *play.Played, err error) {
		g(func() { p, err = player(s, l) })
		return p, err
	})
	a.Took(err)
	return s, p
}

// StoreError reports that a history could not be written. The verdicts remain valid.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return e.Err.Error() }
func (e *StoreError) Unwrap() error { return e.Err }

// Once plays the scenario of a job with a lock once, and judges the history. It compares
// the verdicts with the expected ones, and stores the history where the job says. All
// commands and tests play their runs with Once. It stores the facts in run. Its error is
// a [*StoreError], or a defect of the scenario or of Holdfast. Once returns the play
// also with a later error.
func (j Job) Once(run *results.Run, s *scenarios.Scenario, l *locks.Lock, player func() (*play.Played, error)) (*play.Played, error) {
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

// latest is the scenario that a job asked for last: many jobs in a row play one scenario.
// A scenario does not change after parsing.
var latest atomic.Pointer[parsed]

// parsed is a scenario and where it comes from.
type parsed struct {
	file, source string
	scenario     *scenarios.Scenario
}

// Load parses the scenario of the job, as its user plays it.
func (j Job) Load() (*scenarios.Scenario, error) {
	if p := latest.Load(); p != nil && p.file == j.File && p.source == j.Source {
		return p.scenario.PlayedBy(j.User), nil
	}
	s, err := scenarios.Parse(j.File, []byte(j.Source))
	if err != nil {
		return nil, err
	}
	latest.Store(&parsed{j.File, j.Source, s})
	return s.PlayedBy(j.User), nil
}

// Took notes what went wrong with a run.
func (a *Answer) Took(err error) {
	switch {
	case errors.As(err, new(*StoreError)):
		a.Output = err.Error()
	case err != nil:
		a.Defect = err.Error()
	}
}
