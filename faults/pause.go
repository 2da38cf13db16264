package faults

import (
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// pause freezes client processes, as a long garbage collection, a suspended virtual
// machine or SIGSTOP does. A paused holder does not know that time passes.
var _ = register(Kind{
	Name:    "pause",
	Summary: "a client process freezes (GC pause, suspended VM) and goes on later as if nothing had happened",
	Target:  "client",
	Lasts:   true,
	Plural:  "pauses",
	Traits:  func(Spec) history.Traits { return history.Traits{Lasts: true, StopsProcess: true} },
	Sweep: &sweep{
		Param: "pause", Summary: "how long the pause faults last",
		Noun: "a pause of %s", Label: "length of the pause",
		Set: func(s *Spec, length Duration) { s.For = length },
	},
	Draw: func(d dice, s *Spec) {
		s.For = d.Between(20*time.Millisecond, d.Lease()/5)
		if !d.Survivable() && !d.Chance(3) {
			s.For = d.Between(d.Lease(), 5*d.Lease()/2)
		}
	},
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		heal, err := each(resolve(s.Target, w), func(client string) (func() error, error) {
			return func() error { return w.Resume(client) }, w.Pause(client)
		})
		return strings.Join(s.Target, ", ") + " paused", heal, err
	},
})
