package play

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Recorder writes the history of a run. It records nothing of a client after its crash,
// and nothing after the end: a dead process is not observed.
type Recorder struct {
	Start time.Time

	mu     sync.Mutex
	Events []history.Event
	lastOp int64
	dead   map[string]bool
	closes map[string]int64 // when clients began a close that goes on
	closed bool
	filled map[int64]history.Event // what came into reserved places, by their number
	places int64                   // reserved so far

	Watcher func(history.Event) // called with every event once it is known; may be nil
}

// reserved is the kind of an event that holds a place in the history; its Op is
// the number of the place.
const reserved history.Kind = "reserved"

func NewRecorder(start time.Time) *Recorder {
	return &Recorder{Start: start, dead: map[string]bool{}, closes: map[string]int64{}, filled: map[int64]history.Event{}}
}

// Add appends an event at the present time.
func (r *Recorder) Add(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(e)
}

// AddAt appends an event of an earlier time. The end of the history sorts the events.
func (r *Recorder) AddAt(e history.Event, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		e.Time = max(int64(at.Sub(r.Start)), 0)
		r.Events = append(r.Events, e)
	}
}

func (r *Recorder) append(e history.Event) {
	if r.closed || (e.Client != "" && r.dead[e.Client]) {
		return
	}
	e.Time = int64(time.Since(r.Start))
	r.Events = append(r.Events, e)
	if r.Watcher != nil && e.Kind != reserved {
		r.Watcher(e)
	}
}

// reserve holds the present place in the history, and returns a function that fills it.
func (r *Recorder) reserve() (fill func(history.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place()
}

// place is reserve for a caller that holds mu.
func (r *Recorder) place() (fill func(history.Event)) {
	r.places++
	place, at := r.places, int64(time.Since(r.Start))
	r.append(history.Event{Kind: reserved, Op: place})
	return func(e history.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.filled[place] = e
		if r.Watcher != nil {
			e.Time = at
			r.Watcher(e)
		}
	}
}

// SoFar returns the recorded events in order, and keeps them.
func (r *Recorder) SoFar() []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.complete(slices.Clone(r.Events))
}

// complete puts events into their reserved places, and drops the places without one.
func (r *Recorder) complete(events []history.Event) []history.Event {
	return r.fill(slices.DeleteFunc(events, func(e history.Event) bool {
		_, known := r.filled[e.Op]
		return e.Kind == reserved && !known
	}))
}

// fill puts events into their reserved places. It stops at the first unfilled place.
func (r *Recorder) fill(events []history.Event) []history.Event {
	for i := range events {
		if events[i].Kind != reserved {
			continue
		}
		e, known := r.filled[events[i].Op]
		if !known {
			return events[:i]
		}
		e.Time = events[i].Time
		events[i] = e
	}
	return events
}

// Settled returns the events after the first n that happened before a time, in
// order, and keeps them.
func (r *Recorder) Settled(n int, before time.Time) []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.Events[n:]
	inOrder(rest)
	until := int64(before.Sub(r.Start))
	i := slices.IndexFunc(rest, func(e history.Event) bool { return e.Time >= until })
	if i < 0 {
		i = len(rest)
	}
	return r.fill(slices.Clone(rest[:i]))
}

// inOrder sorts events by time; events of one instant keep their order.
func inOrder(events []history.Event) {
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
}

// Invoke records the start of an operation, and returns the event for its return.
func (r *Recorder) Invoke(e history.Event, a *history.Args) history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOp++
	e.Kind, e.Op, e.Args = history.Invoke, r.lastOp, a
	r.append(e)
	e.Args = nil
	return e
}

func (r *Recorder) Finish(e history.Event, kind history.Kind, res history.Result) {
	e.Kind, e.Result = kind, &res
	r.Add(e)
}

// sinceStart converts a time to that of the history, and the zero time to 0. A time
// outside of the history becomes the nearest one that a history can have.
func (r *Recorder) sinceStart(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(max(int64(t.Sub(r.Start)), 1), history.LongestTime)
}

// isClosing reports whether a client is about to close its lock handle.
func (r *Recorder) isClosing(client string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closes[client] > 0
}

// closing records that a client closes its lock handle. The caller calls the returned
// function at the end of the close.
func (r *Recorder) closing(client string) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := int64(time.Since(r.Start))
	r.closes[client] = began
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.closes, client)
		note := history.Event{Kind: history.Note, F: history.Closed, Client: client}
		if began < int64(time.Since(r.Start)) {
			note.Result = &history.Result{Since: began}
		}
		r.append(note)
	}
}

// crashing records that a client is about to die: nothing of it is recorded from
// now on. Its process may take a while to end. The returned function gets nil
// after that, or the error if it could not be killed.
func (r *Recorder) crashing(client string) (done func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.dead[client]
	fill := r.place()
	note := history.Event{Kind: history.Note, F: history.Crashed, Client: client}
	if began, closing := r.closes[client]; closing { // maybe at this very instant
		note.Result = &history.Result{Since: began}
	}
	r.dead[client] = true
	return func(err error) {
		if err == nil {
			fill(note)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dead[client] = was
	}
}

// End records the leftovers and closes the history. In the simulated world the
// bubble is gone by then, so the caller gives the time.
func (r *Recorder) End(e history.EndEvent, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inOrder(r.Events)
	r.Events = r.complete(r.Events)
	t := int64(at)
	if n := len(r.Events); n > 0 {
		t = max(t, r.Events[n-1].Time)
	}
	r.Events = append(r.Events, history.Event{Time: t, Kind: history.End, End: &e})
	r.closed = true
}
