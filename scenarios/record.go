package scenarios

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/history"
)

// recorder writes the history of a run. Nothing of a client is recorded after
// its crash, and nothing at all after the end: what a dead process still does
// is not part of what anybody saw.
type recorder struct {
	start time.Time

	mu     sync.Mutex
	events []history.Event
	lastOp int64
	dead   map[string]bool
	closed bool
	filled map[int64]history.Event // what came into reserved places, by their number
	places int64                   // reserved so far

	watcher func(history.Event) // told of every event once it is known; nil for nobody
}

// reserved is the kind of a place in the history that is kept for an event; its
// Op is the number of the place.
const reserved history.Kind = "reserved"

func newRecorder(start time.Time) *recorder {
	return &recorder{start: start, dead: map[string]bool{}, filled: map[int64]history.Event{}}
}

// add appends an event with the present time.
func (r *recorder) add(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(e)
}

// addAt appends an event that is known to have happened earlier. The order is
// made good when the history ends.
func (r *recorder) addAt(e history.Event, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		e.Time = max(int64(at.Sub(r.start)), 0)
		r.events = append(r.events, e)
	}
}

func (r *recorder) append(e history.Event) {
	if r.closed || (e.Client != "" && r.dead[e.Client]) {
		return
	}
	e.Time = int64(time.Since(r.start))
	r.events = append(r.events, e)
	if r.watcher != nil && e.Kind != reserved {
		r.watcher(e)
	}
}

// reserve keeps the present place in the history for an event, and returns the
// function that says which.
func (r *recorder) reserve() (fill func(history.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place()
}

// place is reserve with mu held.
func (r *recorder) place() (fill func(history.Event)) {
	r.places++
	place, at := r.places, int64(time.Since(r.start))
	r.append(history.Event{Kind: reserved, Op: place})
	return func(e history.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.filled[place] = e
		if r.watcher != nil {
			e.Time = at
			r.watcher(e)
		}
	}
}

// soFar returns the events recorded until now, in their order. They stay where
// they are.
func (r *recorder) soFar() []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fill(slices.DeleteFunc(slices.Clone(r.events), func(e history.Event) bool {
		_, known := r.filled[e.Op]
		return e.Kind == reserved && !known
	}))
}

// fill puts events into their reserved places. It stops before one whose event
// is not known yet.
func (r *recorder) fill(events []history.Event) []history.Event {
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

// settled returns the events after the first n, those that happened before a
// time, in their order. They stay where they are.
func (r *recorder) settled(n int, before time.Time) []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.events[n:]
	inOrder(rest)
	until := int64(before.Sub(r.start))
	i := slices.IndexFunc(rest, func(e history.Event) bool { return e.Time >= until })
	if i < 0 {
		i = len(rest)
	}
	return r.fill(slices.Clone(rest[:i]))
}

// inOrder sorts events by time; those of one instant stay as they were told.
func inOrder(events []history.Event) {
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
}

// invoke records that an operation begins, and returns the event that its
// return is made of.
func (r *recorder) invoke(e history.Event, a *history.Args) history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOp++
	e.Kind, e.Op, e.Args = history.Invoke, r.lastOp, a
	r.append(e)
	e.Args = nil
	return e
}

// finish records how an operation returned.
func (r *recorder) finish(e history.Event, kind history.Kind, res history.Result) {
	e.Kind, e.Result = kind, &res
	r.add(e)
}

// crashing records that a client is about to be gone: nothing of it is recorded
// from now on. It may take a while until its process has ended; the function
// returned is told whether it has, or could not be made to.
func (r *recorder) crashing(client string) (done func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.dead[client]
	fill := r.place()
	r.dead[client] = true
	return func(err error) {
		if err == nil {
			fill(history.Event{Kind: history.Note, F: history.Crashed, Client: client})
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dead[client] = was
	}
}

// end records what remained, and closes the history. In a simulated world it
// is called when the bubble is gone, so the time is given.
func (r *recorder) end(e history.EndEvent, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	inOrder(r.events)
	r.events = r.fill(slices.DeleteFunc(r.events, func(e history.Event) bool {
		_, known := r.filled[e.Op]
		return e.Kind == reserved && !known // it never came
	}))
	t := int64(at)
	if n := len(r.events); n > 0 {
		t = max(t, r.events[n-1].Time)
	}
	r.events = append(r.events, history.Event{Time: t, Kind: history.End, End: &e})
	r.closed = true
}
