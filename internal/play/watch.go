package play

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// Watch selects the observations of a simulated run. They do not change its history.
type Watch struct {
	Messages bool  `json:"messages,omitempty"` // what every link carries
	Moments  bool  `json:"moments,omitempty"`  // what a fault can be anchored to
	Stop     *Stop `json:"stop,omitempty"`     // look at the world at one moment
}

// Stop is a moment of a run: the record of an event, or a time. All events of that
// virtual instant have happened.
type Stop struct {
	Event *history.Event `json:"event,omitempty"`
	At    time.Duration  `json:"at,omitempty"` // since the start of the run; without an Event
}

type Seen struct {
	Start    time.Time         `json:"start"`              // what times of the world count from
	Messages []traffic.Message `json:"messages,omitempty"` // in order of sending
	Moments  []Moment          `json:"moments,omitempty"`  // in the order in which they came
	Faults   []history.Event   `json:"faults,omitempty"`   // everything that faults did
	State    *State            `json:"state,omitempty"`    // nil when the moment never came
}

// Moment is a moment to which a fault can be anchored.
type Moment struct {
	faults.Moment
	At time.Duration // since the start of the run
	// Used says how links were used since the moment before.
	Used map[faults.Link]traffic.Use `json:"-"`
}

// watch is an active Watch.
type watch struct {
	Watch
	start time.Time

	mu       sync.Mutex
	messages []traffic.Message
	moments  []Moment
	used     map[faults.Link]traffic.Use // since the last moment
	state    *State

	want    []byte        // the event to stop at, encoded
	once    sync.Once     // closes reached
	reached chan struct{} // closed when the moment has come
	over    chan struct{} // closed when the run is over
	idle    sync.WaitGroup
}

// newWatch returns nil if there is nothing to observe. Call it in the bubble.
func newWatch(o Watch) *watch {
	if !o.Messages && !o.Moments && o.Stop == nil {
		return nil
	}
	w := &watch{Watch: o, reached: make(chan struct{}), over: make(chan struct{})}
	if o.Stop != nil && o.Stop.Event != nil {
		w.want = encoded(*o.Stop.Event)
	}
	return w
}

// encoded encodes an event without what the end of the run makes clear: who held the lock.
func encoded(e history.Event) []byte {
	if e.Server != nil {
		s := e.Server
		e.Server = &history.ServerEvent{Node: s.Node, Role: s.Role, Key: s.Key, Cause: s.Cause, Command: s.Command, By: s.By}
	}
	b, err := json.Marshal(e)
	if err != nil {
		panic("play: encode event: " + err.Error()) // numbers and strings: cannot happen
	}
	return b
}

// onMessage is the handler of the world's messages, or nil.
func (w *watch) onMessage() func(traffic.Message) {
	if w == nil {
		return nil
	}
	return func(m traffic.Message) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.messages = append(w.messages, m)
	}
}

// onUse is the handler of the uses of links, or nil.
func (w *watch) onUse() func(faults.Link, traffic.Use) {
	if w == nil || !w.Moments {
		return nil
	}
	w.used = map[faults.Link]traffic.Use{}
	return func(l faults.Link, how traffic.Use) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.used[l] |= how
	}
}

func (w *watch) moment(m faults.Moment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moments = append(w.moments, Moment{m, time.Since(w.start), maps.Clone(w.used)})
	clear(w.used)
}

// begin observes the run from its start, and its state at the selected moment.
func (w *watch) begin(r *simRun, state func() State) {
	if w == nil {
		return
	}
	w.start = r.Rec.Start
	if w.Moments {
		r.Schedule.Observe(w.moment)
	}
	if w.Stop == nil {
		return
	}
	var alarm *time.Timer
	if w.want == nil {
		alarm = time.AfterFunc(time.Until(w.start.Add(w.Stop.At)), w.reach)
	} else {
		r.Rec.Watcher = w.recorded
	}
	w.idle.Go(func() {
		select {
		case <-w.reached:
			r.Settle("watch")
			s := state()
			w.mu.Lock()
			w.state = &s
			w.mu.Unlock()
		case <-w.over:
			if alarm != nil {
				alarm.Stop()
			}
		}
	})
}

func (w *watch) reach() { w.once.Do(func() { close(w.reached) }) }

// recorded detects the event to stop at.
func (w *watch) recorded(e history.Event) {
	if e.Time == w.Stop.Event.Time && bytes.Equal(encoded(e), w.want) {
		w.reach()
	}
}

// end must come before the run looks for remaining goroutines.
func (w *watch) end() {
	if w == nil {
		return
	}
	close(w.over)
	w.idle.Wait()
}

// seen is the result for a run with a history, or nil.
func (w *watch) seen(h *history.History) *Seen {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &Seen{Start: w.start, Moments: w.moments, State: w.state}
	if w.Messages {
		s.Messages = w.messages
		slices.SortFunc(s.Messages, traffic.ByTime)
	}
	for _, e := range h.Events {
		if e.Kind == history.Fault {
			s.Faults = append(s.Faults, e)
		}
	}
	return s
}
