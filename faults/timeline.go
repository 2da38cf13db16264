package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Timeline injects the faults of a scenario at their time or moment, and heals
// them at their end. Each fault strikes once.
//
// A fault at a moment without delay strikes in the caller of [Timeline.Moment].
// Faults that end at this moment heal first; then the others strike in the order
// of ids. All other faults strike and heal one after the other on a single
// goroutine, in the order of their planned times and then their ids. So in a world
// that does one thing at a time, every run records the same order. A strike that
// takes long delays its end and what is planned after that, but changes no order:
// a server that is to be back before it is stopped again is back.
type Timeline struct {
	entries []*entry

	waiting atomic.Int32 // awaited moments, to leave Moment early
	observe func(Moment) // set before Start; may be nil

	mu      sync.Mutex // guards what follows and the entries; never held while a world is called
	ctx     context.Context
	world   World
	record  Record
	due     []task
	wake    chan struct{}  // capacity 1: due has changed
	quit    chan struct{}  // closed by Stop
	running bool           // started and not stopped
	busy    sync.WaitGroup // strikes under way, and the goroutine
}

// Planned is a fault of the timeline.
type Planned struct {
	ID      int
	Fault   string
	Targets []string
	When    string // such as "at 2s, for 5s"
	Traits  history.Traits
}

// Strike is an event of a planned fault.
type Strike struct {
	ID      int
	Name    string
	Phase   string   // PhaseStart, PhaseEnd or PhaseFailed
	Targets []string // the names of the struck parties
	// Promoted is the server that the strike made a primary; "" for none.
	Promoted string
	Detail   string // what the strike did
}

// Record reserves the present place in the history for an event, and returns a
// function that fills it. A fault may take a while to strike, such as an election,
// and the parties that it wakes act before its description is known. Its place in
// the history is its start.
type Record func() (tell func(Strike))

// The phases of a fault. An instant fault only starts. A fault that could not
// strike, or whose moment never came, failed. A fault that could not heal ended
// and failed.
const (
	PhaseStart  = "start"
	PhaseEnd    = "end"
	PhaseFailed = "failed"
)

// SpecError names the fault of a scenario that cannot be built, and the reason.
type SpecError struct {
	Index int    // in the scenario's list, from 0
	Fault string // as written there
	Err   error
}

func (e *SpecError) Error() string {
	return fmt.Sprintf("faults[%d] (%s): %v", e.Index, e.Fault, e.Err)
}

func (e *SpecError) Unwrap() error { return e.Err }

type entry struct {
	id      int
	spec    Spec
	fault   Fault
	seen    int       // matching moments
	begun   bool      // the run reached its anchor
	struck  bool      // the timeline called Strike
	planned time.Time // of the strike, once the run reached the anchor
	targets []string
	heal    func() error // not nil during the fault
	passed  int          // moments since the strike that matched its end
}

// task is a strike or heal of the timeline's goroutine.
type task struct {
	at   time.Time // not before
	e    *entry
	heal bool
}

// planned is when the task would come if no strike took any time.
func (t task) planned() time.Time {
	if t.heal {
		return t.e.planned.Add(time.Duration(t.e.spec.For))
	}
	return t.e.planned
}

// NewTimeline builds the faults of specs for a topology. It returns a [*SpecError]
// for the first fault that cannot be built. Every fault gets its own source of
// randomness, derived from seed.
func NewTimeline(specs []Spec, t Topology, seed uint64) (*Timeline, error) {
	tl := &Timeline{wake: make(chan struct{}, 1), quit: make(chan struct{})}
	for i, s := range specs {
		own := mix(seed, uint64(i+1))
		f, err := build(s, t, own)
		if err != nil {
			return nil, &SpecError{Index: i, Fault: s.Fault, Err: err}
		}
		s.After += drawn(s.Within, own)
		tl.entries = append(tl.entries, &entry{id: i + 1, spec: s, fault: f})
		if s.On != nil {
			tl.waiting.Add(1)
		}
	}
	return tl, nil
}

// drawn returns a time below d, in microseconds, that a seed determines.
func drawn(d Duration, seed uint64) Duration {
	steps := uint64(d) / uint64(time.Microsecond)
	if steps == 0 {
		return 0
	}
	return Duration(mix(seed, 1)%steps) * Duration(time.Microsecond)
}

// mix derives a seed from a seed and a number (SplitMix64).
func mix(seed, n uint64) uint64 {
	z := seed + n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Planned lists the faults, with ids from 1 in the order of the scenario.
func (tl *Timeline) Planned() []Planned {
	var out []Planned
	for _, e := range tl.entries {
		out = append(out, Planned{ID: e.id, Fault: e.spec.Fault, Targets: targets(e.spec), When: When(e.spec), Traits: TraitsOf(e.spec)})
	}
	return out
}

// WaitsForArrivals reports whether a fault strikes or ends when a message reaches
// a client. Worlds skip these costly moments otherwise.
func (tl *Timeline) WaitsForArrivals() bool {
	return slices.ContainsFunc(tl.entries, func(e *entry) bool {
		return e.spec.On != nil && e.spec.On.ToClient() || e.spec.Until != nil && e.spec.Until.ToClient()
	})
}

// targets lists the targets and the peers of a fault.
func targets(s Spec) []string { return slices.Concat(s.Target, s.Peer) }

// Start starts the run: times count from now. Faults at 0s strike before it
// returns. record gets every event, one call after the other per fault; it must
// not call the timeline.
func (tl *Timeline) Start(ctx context.Context, w World, record Record) {
	now := time.Now()
	var first []*entry
	tl.mu.Lock()
	tl.ctx, tl.world, tl.record, tl.running = ctx, w, record, true
	for _, e := range tl.entries {
		if e.spec.At == nil {
			continue
		}
		e.begun = true
		wait := time.Duration(*e.spec.At + e.spec.After)
		e.planned = now.Add(wait)
		if wait > 0 {
			tl.due = append(tl.due, task{at: e.planned, e: e})
		} else {
			first = append(first, e)
		}
	}
	tl.busy.Add(1 + len(first))
	tl.mu.Unlock()
	for _, e := range first {
		tl.strike(e)
		tl.busy.Done()
	}
	go tl.loop()
}

// loop runs tasks at their times, until the end of the run.
func (tl *Timeline) loop() {
	defer tl.busy.Done()
	for {
		next, wait, any := tl.next()
		if any && wait <= 0 {
			if next.heal {
				tl.heal(next.e)
			} else {
				tl.strike(next.e)
			}
			continue
		}
		var due <-chan time.Time
		var timer *time.Timer
		if any {
			timer = time.NewTimer(wait)
			due = timer.C
		}
		select {
		case <-due:
		case <-tl.wake:
		case <-tl.quit:
		case <-tl.ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		if tl.over() {
			return
		}
	}
}

func (tl *Timeline) over() bool {
	select {
	case <-tl.quit:
		return true
	case <-tl.ctx.Done():
		return true
	default:
		return false
	}
}

// next returns the first task of the plan and the time until it. It removes a task
// that is due, unless the run is over.
func (tl *Timeline) next() (t task, wait time.Duration, any bool) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if len(tl.due) == 0 || !tl.running || tl.ctx.Err() != nil {
		return task{}, 0, false
	}
	slices.SortStableFunc(tl.due, func(a, b task) int {
		if c := a.planned().Compare(b.planned()); c != 0 {
			return c
		}
		return a.e.id - b.e.id
	})
	t = tl.due[0]
	if wait = time.Until(t.at); wait <= 0 {
		tl.due = tl.due[1:]
	}
	return t, wait, true
}

// later schedules a task. The caller holds mu.
func (tl *Timeline) later(after time.Duration, e *entry, heal bool) {
	tl.due = append(tl.due, task{time.Now().Add(after), e, heal})
	select {
	case tl.wake <- struct{}{}:
	default:
	}
}

// Observe passes every moment to which a fault could be anchored to f, one after
// the other. Call it before Start. f must not call the timeline.
func (tl *Timeline) Observe(f func(Moment)) { tl.observe = f }

// Moment announces a moment. When it returns, the faults anchored to it without
// delay have struck, and the faults that last until it have ended. A world may
// call it from several goroutines, and from within a strike.
func (tl *Timeline) Moment(m Moment) {
	if tl.waiting.Load() == 0 && tl.observe == nil {
		return
	}
	var over, now []*entry
	tl.mu.Lock()
	if tl.running && tl.ctx.Err() == nil {
		if tl.observe != nil {
			tl.observe(m)
		}
		for _, e := range tl.entries {
			if e.ends(m) {
				over = append(over, e)
				continue
			}
			if e.begun || e.spec.On == nil || !e.spec.On.matches(m) {
				continue
			}
			if e.seen++; e.seen < max(1, e.spec.On.Nth) {
				continue
			}
			e.begun = true
			tl.waiting.Add(-1)
			after := time.Duration(e.spec.After)
			e.planned = time.Now().Add(after)
			if after > 0 {
				tl.later(after, e, false)
			} else {
				now = append(now, e)
			}
		}
		tl.busy.Add(len(over) + len(now))
	}
	tl.mu.Unlock()
	for _, e := range over {
		tl.heal(e)
		tl.busy.Done()
	}
	for _, e := range now {
		tl.strike(e)
		tl.busy.Done()
	}
}

// ends reports whether a lasting fault ends at a moment. The caller holds the
// timeline's mu.
func (e *entry) ends(m Moment) bool {
	if e.heal == nil || e.spec.Until == nil || !e.spec.Until.matches(m) {
		return false
	}
	e.passed++
	return e.passed == max(1, e.spec.Until.Nth)
}

// strike injects one fault and schedules its end.
func (tl *Timeline) strike(e *entry) {
	struck := resolve(targets(e.spec), tl.world)
	tl.mu.Lock()
	e.struck, e.targets = true, struck
	tl.mu.Unlock()
	tell := tl.record()
	w := &promoting{World: tl.world}
	detail, heal, err := e.fault.Strike(tl.ctx, w)
	if err != nil {
		tell(e.strike(PhaseFailed, fmt.Sprintf("could not strike: %v", err)))
		return
	}
	s := e.strike(PhaseStart, detail)
	s.Promoted = w.promoted
	tell(s)
	if heal == nil {
		return
	}
	tl.mu.Lock()
	defer tl.mu.Unlock()
	e.heal = heal
	if e.spec.Until != nil {
		tl.waiting.Add(1)
	}
	if e.spec.For > 0 {
		tl.later(time.Duration(e.spec.For), e, true)
	}
}

// promoting is a world that notes which server a strike promotes.
type promoting struct {
	World
	promoted string
}

func (w *promoting) Promote(replica string) error {
	w.promoted = replica
	return w.World.Promote(replica)
}

func (w *promoting) HandOver(replica string) error {
	w.promoted = replica
	return w.World.HandOver(replica)
}

// heal ends a lasting fault, once.
func (tl *Timeline) heal(e *entry) {
	tl.mu.Lock()
	heal := e.heal
	e.heal = nil
	tl.mu.Unlock()
	if heal == nil {
		return
	}
	if e.spec.Until != nil {
		tl.waiting.Add(-1)
	}
	// Record the end first: the parties that it wakes may act at once.
	tl.tell(e, PhaseEnd, "")
	if err := heal(); err != nil {
		tl.tell(e, PhaseFailed, fmt.Sprintf("could not be healed: %v", err))
	}
}

func (tl *Timeline) tell(e *entry, phase, detail string) {
	tl.record()(e.strike(phase, detail))
}

func (e *entry) strike(phase, detail string) Strike {
	return Strike{ID: e.id, Name: e.spec.Fault, Phase: phase, Targets: e.targets, Detail: detail}
}

// Stop ends the timeline. It waits for running strikes, heals lasting faults in
// the order of ids, and records the faults that never struck. Do not call it from
// within a strike. Only the first call after Start has an effect.
func (tl *Timeline) Stop() {
	tl.mu.Lock()
	running := tl.running
	tl.running = false
	tl.mu.Unlock()
	if !running {
		return
	}
	close(tl.quit)
	tl.busy.Wait()
	for _, e := range tl.entries {
		tl.heal(e)
	}
	for _, e := range tl.entries {
		if !e.struck {
			e.targets = targets(e.spec)
			tl.tell(e, PhaseFailed, "never struck: the run was over first; planned "+When(e.spec))
		}
	}
}
