package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Schedule injects the faults of a scenario at their time or moment, and heals
// them at their end. Each fault strikes once.
//
// A fault at a moment without delay strikes in the caller of [Schedule.Moment]. Faults
// that end at this moment heal first; then the others strike in the order of ids. All
// other faults strike and heal one after the other on a single goroutine, in the order of
// their planned times and then their ids. So in a world that does one thing at a time,
// every run records the same order. A strike that takes long delays its end and what is
// planned after that, but changes no order. A server that is to be back before it is
// stopped again is back.
type Schedule struct {
	entries []*entry

	waiting atomic.Int32 // awaited moments, to leave Moment early
	observe func(Moment) // set before Start; may be nil

	mu      sync.Mutex // guards what follows and the entries; never held while a world is called
	ctx     context.Context
	world   World
	record  record
	due     []task
	wake    chan struct{}  // capacity 1: due has changed
	quit    chan struct{}  // closed by Stop
	running bool           // started and not stopped
	busy    sync.WaitGroup // strikes under way, and the goroutine
}

// record reserves the present place in the history for an event, and returns a
// function that fills it. A fault may take a while to strike, such as an election,
// and the parties that it wakes act before its description is known. Its place in
// the history is its start.
type record func() (tell func(history.FaultEvent))

// specError names the fault of a scenario that cannot be built, and the reason.
type specError struct {
	Index int    // in the scenario's list, from 0
	Fault string // as written there
	Err   error
}

func (e *specError) Error() string {
	return fmt.Sprintf("faults[%d] (%s): %v", e.Index, e.Fault, e.Err)
}

func (e *specError) Unwrap() error { return e.Err }

type entry struct {
	id      int
	spec    Spec
	strikes func(World) (detail string, heal func() error, err error)
	seen    int       // matching moments
	begun   bool      // the run reached its anchor
	struck  bool      // the schedule called Strike
	planned time.Time // of the strike, once the run reached the anchor
	targets []string
	heal    func() error // not nil during the fault
	passed  int          // moments since the strike that matched its end
}

// task is a strike or heal of the schedule's goroutine.
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

// NewSchedule builds the faults of specs for a topology. It returns a *specError
// for the first fault that cannot be built. Every fault gets its own source of
// randomness, derived from seed.
func NewSchedule(specs []Spec, t Topology, seed uint64) (*Schedule, error) {
	sc := &Schedule{wake: make(chan struct{}, 1), quit: make(chan struct{})}
	for i, s := range specs {
		s = s.claimed(t.Clocks)
		own := mix(seed, uint64(i+1))
		strikes, err := build(s, t, own)
		if err != nil {
			return nil, &specError{Index: i, Fault: s.Fault, Err: err}
		}
		s.After += drawn(s.Within, own)
		sc.entries = append(sc.entries, &entry{id: i + 1, spec: s, strikes: strikes})
		if s.On != nil {
			sc.waiting.Add(1)
		}
	}
	return sc, nil
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
func (sc *Schedule) Planned() []history.PlannedFault {
	var out []history.PlannedFault
	for _, e := range sc.entries {
		out = append(out, history.PlannedFault{ID: e.id, Fault: e.spec.Fault, Targets: targets(e.spec), When: e.spec.When(), Traits: e.spec.Traits()})
	}
	return out
}

// WaitsForArrivals reports whether a fault strikes or ends when a message reaches
// a client. Worlds skip these costly moments otherwise.
func (sc *Schedule) WaitsForArrivals() bool {
	return slices.ContainsFunc(sc.entries, func(e *entry) bool {
		return e.spec.On != nil && e.spec.On.ToClient() || e.spec.Until != nil && e.spec.Until.ToClient()
	})
}

// targets lists the targets and the peers of a fault, and a server of another group that
// it strikes too.
func targets(s Spec) []string {
	all := slices.Concat(s.Target, s.Peer)
	if s.To != "" && groupOf(s.To) != groupOf(s.Target[0]) {
		all = append(all, s.To)
	}
	return all
}

// Start starts the run: times count from now. Faults at 0s strike before it
// returns. record gets every event, one call after the other per fault; it must
// not call the schedule.
func (sc *Schedule) Start(ctx context.Context, w World, record record) {
	now := time.Now()
	var first []*entry
	sc.mu.Lock()
	sc.ctx, sc.world, sc.record, sc.running = ctx, w, record, true
	for _, e := range sc.entries {
		if e.spec.At == nil {
			continue
		}
		e.begun = true
		wait := time.Duration(*e.spec.At + e.spec.After)
		e.planned = now.Add(wait)
		if wait > 0 {
			sc.due = append(sc.due, task{at: e.planned, e: e})
		} else {
			first = append(first, e)
		}
	}
	sc.busy.Add(1 + len(first))
	sc.mu.Unlock()
	for _, e := range first {
		sc.strike(e)
		sc.busy.Done()
	}
	go sc.loop()
}

// loop runs tasks at their times, until the end of the run.
func (sc *Schedule) loop() {
	defer sc.busy.Done()
	for {
		next, wait, any := sc.next()
		if any && wait <= 0 {
			if next.heal {
				sc.heal(next.e)
			} else {
				sc.strike(next.e)
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
		case <-sc.wake:
		case <-sc.quit:
		case <-sc.ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		if sc.over() {
			return
		}
	}
}

func (sc *Schedule) over() bool {
	select {
	case <-sc.quit:
		return true
	case <-sc.ctx.Done():
		return true
	default:
		return false
	}
}

// next returns the first task of the plan and the time until it. It removes a task
// that is due, unless the run is over.
func (sc *Schedule) next() (t task, wait time.Duration, any bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.due) == 0 || !sc.running || sc.ctx.Err() != nil {
		return task{}, 0, false
	}
	slices.SortStableFunc(sc.due, func(a, b task) int { return cmp.Or(a.planned().Compare(b.planned()), a.e.id-b.e.id) })
	t = sc.due[0]
	if wait = time.Until(t.at); wait <= 0 {
		sc.due = sc.due[1:]
	}
	return t, wait, true
}

// later schedules a task. The caller holds mu.
func (sc *Schedule) later(after time.Duration, e *entry, heal bool) {
	sc.due = append(sc.due, task{time.Now().Add(after), e, heal})
	select {
	case sc.wake <- struct{}{}:
	default:
	}
}

// Observe passes every moment to which a fault could be anchored to f, one after
// the other. Call it before Start. f must not call the schedule.
func (sc *Schedule) Observe(f func(Moment)) { sc.observe = f }

// Moment announces a moment. When it returns, the faults anchored to it without
// delay have struck, and the faults that last until it have ended. A world may
// call it from several goroutines, and from within a strike.
func (sc *Schedule) Moment(m Moment) {
	if sc.waiting.Load() == 0 && sc.observe == nil {
		return
	}
	var over, now []*entry
	sc.mu.Lock()
	if sc.running && sc.ctx.Err() == nil {
		if sc.observe != nil {
			sc.observe(m)
		}
		for _, e := range sc.entries {
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
			sc.waiting.Add(-1)
			after := time.Duration(e.spec.After)
			e.planned = time.Now().Add(after)
			if after > 0 {
				sc.later(after, e, false)
			} else {
				now = append(now, e)
			}
		}
		sc.busy.Add(len(over) + len(now))
	}
	sc.mu.Unlock()
	for _, e := range over {
		sc.heal(e)
		sc.busy.Done()
	}
	for _, e := range now {
		sc.strike(e)
		sc.busy.Done()
	}
}

// ends reports whether a lasting fault ends at a moment. The caller holds the
// schedule's mu.
func (e *entry) ends(m Moment) bool {
	if e.heal == nil || e.spec.Until == nil || !e.spec.Until.matches(m) {
		return false
	}
	e.passed++
	return e.passed == max(1, e.spec.Until.Nth)
}

// strike injects one fault and schedules its end.
func (sc *Schedule) strike(e *entry) {
	struck := resolve(targets(e.spec), sc.world)
	sc.mu.Lock()
	e.struck, e.targets = true, struck
	sc.mu.Unlock()
	tell := sc.record()
	w := &promoting{World: sc.world}
	detail, heal, err := e.strikes(w)
	if err != nil {
		tell(e.strike(history.PhaseFailed, fmt.Sprintf("could not strike: %v", err)))
		return
	}
	s := e.strike(history.PhaseStart, detail)
	s.Promoted = w.promoted
	tell(s)
	if heal == nil {
		return
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	e.heal = heal
	if e.spec.Until != nil {
		sc.waiting.Add(1)
	}
	if e.spec.For > 0 {
		sc.later(time.Duration(e.spec.For), e, true)
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
func (sc *Schedule) heal(e *entry) {
	sc.mu.Lock()
	heal := e.heal
	e.heal = nil
	sc.mu.Unlock()
	if heal == nil {
		return
	}
	if e.spec.Until != nil {
		sc.waiting.Add(-1)
	}
	// Record the end first: the parties that it wakes may act at once.
	sc.tell(e, history.PhaseEnd, "")
	if err := heal(); err != nil {
		sc.tell(e, history.PhaseFailed, fmt.Sprintf("could not be healed: %v", err))
	}
}

func (sc *Schedule) tell(e *entry, phase, detail string) {
	sc.record()(e.strike(phase, detail))
}

func (e *entry) strike(phase, detail string) history.FaultEvent {
	return history.FaultEvent{ID: e.id, Name: e.spec.Fault, Phase: phase, Targets: e.targets, Detail: detail}
}

// Stop ends the schedule. It waits for running strikes, heals lasting faults in
// the order of ids, and records the faults that never struck. Do not call it from
// within a strike. Only the first call after Start has an effect.
func (sc *Schedule) Stop() {
	sc.mu.Lock()
	running := sc.running
	sc.running = false
	sc.mu.Unlock()
	if !running {
		return
	}
	close(sc.quit)
	sc.busy.Wait()
	for _, e := range sc.entries {
		sc.heal(e)
	}
	for _, e := range sc.entries {
		if !e.struck {
			e.targets = targets(e.spec)
			sc.tell(e, history.PhaseFailed, "never struck: the run was over first; planned "+e.spec.When())
		}
	}
}
