package cross

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// varied are the features that a random scenario has only from here. It draws the others
// itself, because its times are its own.
var varied = []string{"owners", "names", "observation", "user", "wait of a rival"}

// Vary gives a scenario values of the features of [New] that it has not drawn itself, each
// of them in one of four scenarios. It leaves out what the lock cannot play with the rest,
// and faults. A lock on several servers keeps what it has. Several owners of one client
// would send requests to all of them at one instant, in no certain order.
func Vary(rng *rand.Rand, l *locks.Lock, s *scenarios.Scenario) {
	if l.Groups > 1 {
		return
	}
	for _, f := range work {
		if !slices.Contains(varied, f.name) || rng.IntN(4) > 0 {
			continue
		}
		v := f.values[1+rng.IntN(len(f.values)-1)]
		if v.can != nil && !v.can(l) {
			continue
		}
		c := *s
		c.Override = maps.Clone(s.Override)
		v.put(&c)
		keepPresent(&c)
		if ok, _ := c.Applies(l); ok && len(c.Faults) == len(s.Faults) {
			*s = c
		}
	}
}

// keepPresent drops what a scenario says about clients that it does not have.
func keepPresent(s *scenarios.Scenario) {
	for n := s.Topology.Clients + 1; n <= 3; n++ {
		delete(s.Override, party.Client(n))
	}
}
