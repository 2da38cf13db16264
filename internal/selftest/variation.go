package selftest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// vary returns a variation of a scenario: the same story with other numbers, in
// which every expectation still holds. The same scenario and seed give the same
// variation. vary does not change s.
//
// vary always draws the latency of messages and the lag of replication anew. Their
// ranges stay far below the times on which scenarios rest their arguments. A
// scenario of the catalogue may vary more: see variations.yaml and [related]. The
// story never varies: the faults, their targets and anchors, and the topology
// except for the number of clients.
func vary(s *scenarios.Scenario, seed uint64) *scenarios.Scenario {
	v := &variation{Scenario: clone(s), rng: random.Stream(seed, "vary", s.Name)}
	v.latency(3*time.Millisecond, 40*time.Millisecond)
	// A scenario that shares only a name with a built-in one is another scenario.
	if original, err := scenarios.Find(s.Name); err == nil && reflect.DeepEqual(s, original) {
		for _, line := range ranged[s.Name] {
			v.draw(fmt.Sprint(line.Key), fmt.Sprint(line.Value))
		}
		if more := related[s.Name]; more != nil {
			more(v)
		}
	}
	return v.Scenario
}

type variation struct {
	*scenarios.Scenario
	rng *rand.Rand
}

// clone copies everything that a variation may change.
func clone(s *scenarios.Scenario) *scenarios.Scenario {
	c := *s
	c.Override = maps.Clone(s.Override)
	c.Faults = slices.Clone(s.Faults)
	return &c
}

// between draws a time, to the millisecond.
func (v *variation) between(lo, hi time.Duration) faults.Duration {
	return faults.Duration(lo + v.upTo(hi-lo).Truncate(time.Millisecond))
}

func (v *variation) upTo(d time.Duration) time.Duration {
	return time.Duration(v.rng.Int64N(int64(d) + 1))
}

func (v *variation) number(lo, hi int) int { return lo + v.rng.IntN(hi-lo+1) }

// chance is true once in n times.
func (v *variation) chance(n int) bool { return v.rng.IntN(n) == 0 }

// latency draws a range of latencies whose spread is at most the given one. One
// in two variations has an even network, as in a rack. The lag of replication is
// at most the given one, too.
func (v *variation) latency(spread, lag time.Duration) {
	if v.chance(2) {
		spread = time.Millisecond
	}
	least := 20*time.Microsecond + v.upTo(time.Millisecond).Truncate(time.Microsecond)
	most := least + 100*time.Microsecond + v.upTo(spread).Truncate(time.Microsecond)
	v.Topology.Latency = scenarios.Latency{Min: faults.Duration(least), Max: faults.Duration(most)}
	if v.Topology.Replicas > 0 {
		v.Topology.Lag = v.between(time.Millisecond, lag)
	}
}

func (v *variation) starts(client int, lo, hi time.Duration) {
	search.Override(v.Scenario, party.Client(client), func(o *scenarios.Override) { o.Start = new(v.between(lo, hi)) })
}

// think draws the think time of the clients without one of their own.
func (v *variation) think(lo, hi time.Duration) time.Duration {
	v.Workload.Think = v.between(lo, hi)
	return time.Duration(v.Workload.Think)
}

// patience gives waiters enough time. It covers all critical sections of all
// clients twice, each with its hand-off, and one lease of a dead holder.
func (v *variation) patience() {
	poll := cmp.Or(time.Duration(v.Workload.Poll), locks.DefaultSafetyPoll)
	each := time.Duration(v.Workload.Think) + poll + 2*time.Duration(v.Topology.Lag) + 100*time.Millisecond
	all := time.Duration(v.Topology.Clients*v.Workload.Holds) * each
	v.Workload.Wait = faults.Duration((2*all + time.Duration(v.Workload.Lease) + 5*time.Second).Truncate(time.Millisecond))
}
