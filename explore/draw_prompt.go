package explore

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/scenarios"
)

// notice is how long a waiter may take, whose lock is woken by messages, from
// a release to its grant, when no message is lost.
const notice = time.Second

// prompt now and then makes the run one in which messages alone can wake a
// waiter in time: its own look at the lock comes much later. Nothing may hold
// up the messages then but a slow SUBSCRIBE. It returns the faults that are
// left to draw from.
func (d *draw) prompt(may []string) []string {
	if !d.chance(8) || !hears(d.lock) {
		return may
	}
	w := &d.s.Workload
	w.Poll, w.Handoff = d.between(5000*ms, 15000*ms), d.between(notice, 3*notice/2)
	w.Wait = max(w.Wait, d.between(10000*ms, 30000*ms))
	w.Holds = max(w.Holds, 2)
	return slices.DeleteFunc(may, func(name string) bool { return name != "slow-subscribe" })
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

// hears says whether the waiters of a lock are woken by messages: then the
// catalogue has a scenario about that.
func hears(l *scenarios.Subject) bool { return has(l, "woken-by-message") }

// closes says whether a lock has something to close, in the same way.
func closes(l *scenarios.Subject) bool { return has(l, "shutdown") }

func has(l *scenarios.Subject, scenario string) bool {
	s, err := scenarios.Find(scenario)
	if err != nil {
		return false
	}
	ok, _ := s.Applies(l)
	return ok
}
