package draw

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// notice is the longest time from a release to the grant of a waiter that is woken
// by messages, if no message is lost.
const notice = time.Second

// waits sometimes makes the run one about waiting, in which only some faults are
// allowed. It returns the allowed faults.
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

// quick reports whether a fault delays no single attempt of an acquire for long,
// apart from stops of its process.
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
		search.Override(d.s, party.Client(n+1), func(o *scenarios.Override) { o.Wait = &wait })
	}
}

// prompt lets only messages wake a waiter in time: its own poll comes much later. Then no
// fault but a slow SUBSCRIBE may delay the messages. Nor may a holder have a shorter lease
// than the one before, or an inner release leave one. The waiter sleeps until the end that
// it has seen, because no message reports the change. Work under two locks outlasts a lease.
func (d *draw) prompt() {
	w := &d.s.Workload
	w.Together = false
	explicit := w.Explicit
	for client, o := range d.s.Override {
		explicit = explicit || o.Explicit != nil && *o.Explicit
		o.Lease = nil
		if d.s.Override[client] = o; o == (scenarios.Override{}) {
			delete(d.s.Override, client)
		}
	}
	if explicit {
		w.Nested, w.Unnest = nil, false
	}
	for i := range w.Nested {
		w.Nested[i] = 0
	}
	w.Poll, w.Handoff = d.between(5000*ms, 15000*ms), d.between(notice, 3*notice/2)
	w.Wait = max(w.Wait, d.between(10000*ms, 30000*ms))
	w.Holds = max(w.Holds, 2)
}

// allow gives waiters the time for their slow SUBSCRIBEs.
func (d *draw) allow() {
	if d.s.Workload.Handoff == 0 {
		return
	}
	for _, f := range d.s.Faults {
		d.s.Workload.Handoff += f.By
	}
}

// hears reports whether messages wake the waiters of a lock: then the catalogue
// has a scenario about that.
func hears(l *locks.Lock) bool { return has(l, "woken-by-message") }

// closes reports whether a lock can be closed, in the same way.
func closes(l *locks.Lock) bool { return has(l, "shutdown") }

func has(l *locks.Lock, scenario string) bool {
	s, err := scenarios.Find(scenario)
	if err != nil {
		return false
	}
	ok, _ := s.Applies(l)
	return ok
}
