package draw

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// notice is how long a waiter may take, whose lock is woken by messages, from
// a release to its grant, when no message is lost.
const notice = time.Second

// waits now and then makes the run one about waiting, in which only some faults
// may come. It returns the faults that are left to draw from.
func (d *draw) waits(may []string) []string {
	switch {
	case d.chance(8):
		d.impatient()
		return only(may, quick)
	case d.chance(7) && hears(d.lock):
		d.prompt()
		return only(may, func(t history.Traits) bool { return t.HoldsSubscriptions })
	}
	return may
}

// quick reports whether a fault makes no single try of an acquire take long, apart
// from the time in which its process is stopped.
func quick(t history.Traits) bool {
	network := t.HoldsRequests || t.HoldsReplies || t.LosesReplies || t.HoldsSubscriptions || t.BreaksConnections
	return !network && !t.HoldsReplication && !t.StopsNode && !t.Promotes
}

func only(may []string, these func(history.Traits) bool) []string {
	return slices.DeleteFunc(may, func(name string) bool { return !these(traits(name)) })
}

// impatient lets clients wait for a short time, or not at all.
func (d *draw) impatient() {
	for n := range d.s.Topology.Clients {
		if d.chance(2) {
			continue
		}
		wait := d.between(10*ms, d.lease()/2)
		if d.chance(2) {
			wait = 0
		}
		d.override(client(n+1), func(o *scenarios.Override) { o.Wait = &wait })
	}
}

// prompt makes messages alone wake a waiter in time: its own look at the lock
// comes much later. Nothing may hold up the messages then but a slow SUBSCRIBE,
// nor may the release of an inner hold leave a shorter lease than a waiter has
// been told: it sleeps until that is over, as no message tells it of it.
func (d *draw) prompt() {
	w := &d.s.Workload
	for n := range d.s.Topology.Clients {
		if o := d.s.Override[client(n+1)]; w.Explicit || o.Explicit != nil && *o.Explicit {
			w.Nested, w.Unnest = nil, false
		}
	}
	for i := range w.Nested {
		w.Nested[i] = 0
	}
	w.Poll, w.Handoff = d.between(5000*ms, 15000*ms), d.between(notice, 3*notice/2)
	w.Wait = max(w.Wait, d.between(10000*ms, 30000*ms))
	w.Holds = max(w.Holds, 2)
}

// override changes what a client does differently from the others.
func (d *draw) override(client string, change func(*scenarios.Override)) {
	if d.s.Override == nil {
		d.s.Override = map[string]scenarios.Override{}
	}
	o := d.s.Override[client]
	change(&o)
	d.s.Override[client] = o
}

// allow gives waiters the time that their slow SUBSCRIBEs take.
func (d *draw) allow() {
	if d.s.Workload.Handoff == 0 {
		return
	}
	for _, f := range d.s.Faults {
		d.s.Workload.Handoff += f.By
	}
}

// hears reports whether the waiters of a lock are woken by messages: then the
// catalogue has a scenario about that.
func hears(l *subject.Subject) bool { return has(l, "woken-by-message") }

// closes reports whether a lock has something to close, in the same way.
func closes(l *subject.Subject) bool { return has(l, "shutdown") }

func has(l *subject.Subject, scenario string) bool {
	s, err := scenarios.Find(scenario)
	if err != nil {
		return false
	}
	ok, _ := s.Applies(l)
	return ok
}
