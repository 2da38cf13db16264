// Package draw draws ordinary scenarios at random. It counts which faults struck
// in which phase of which operation, to steer towards gaps.
package draw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/cross"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const (
	ms = time.Millisecond
	// attempts is the number of draws for a part that the topology, or the lock, cannot
	// carry.
	attempts = 12
)

// Scenario returns a random scenario that applies to the lock. Its file reads as
// the same scenario. The same arguments give the same scenario. Faults and phases
// of holes are more likely than others. An error is a defect of this package.
func Scenario(l *locks.Lock, seed uint64, v Vocabulary, holes []Cell) (*scenarios.Scenario, error) {
	d := &draw{rng: random.Stream(seed, "explore"), lock: l, Vocabulary: v}
	d.s = &scenarios.Scenario{
		Name:      fmt.Sprintf("explored-%d", seed),
		Title:     fmt.Sprintf("Drawn at random from seed %d", seed),
		Story:     "Nobody has thought of this: clients, times and faults were drawn at random.",
		Otherwise: "A lock keeps its promises whatever happens; what does not come out ok is a find.",
	}
	if err := d.world(); err != nil {
		return nil, err
	}
	d.overrides()
	d.operations(random.Stream(seed, "operations"))
	d.faults(holes)
	d.allow()
	return d.s, nil
}

type draw struct {
	Vocabulary
	rng  *rand.Rand
	lock *locks.Lock
	s    *scenarios.Scenario
	top  faults.Topology // of s with the lock
}

func (d *draw) number(lo, hi int) int { return lo + d.rng.IntN(hi-lo+1) }

// chance is true once in n times.
func (d *draw) chance(n int) bool { return d.rng.IntN(n) == 0 }

// between draws a time; longer ones come in larger steps.
func (d *draw) between(lo, hi time.Duration) faults.Duration {
	x := lo + time.Duration(d.rng.Int64N(int64(hi-lo)+1))
	step := 10 * time.Microsecond
	switch {
	case x >= time.Second:
		step = 100 * ms
	case x >= 20*ms:
		step = 10 * ms
	case x >= ms:
		step = ms
	}
	return faults.Duration(max(x.Truncate(step), lo))
}

func (d *draw) lease() time.Duration { return time.Duration(d.s.Workload.Lease) }
func (d *draw) think() time.Duration { return time.Duration(d.s.Workload.Think) }

// world draws topology and workload until the lock can be played with them.
func (d *draw) world() error {
	why := ""
	for range 100 {
		d.topology()
		d.workload()
		var ok bool
		if ok, why = d.s.Applies(d.lock); ok {
			d.top = d.s.World(d.lock)
			return nil
		}
	}
	return fmt.Errorf("draw scenario for %s: %s", d.lock.Name(), why)
}

func (d *draw) topology() {
	t := search.Topology(d.lock, d.number(2, 4))
	t.Replicas = d.number(0, 2)
	if t.Replicas > 0 && d.chance(10) {
		t.Cluster, t.Groups = true, 3
	}
	least := d.between(20*time.Microsecond, ms)
	t.Latency = scenarios.Latency{Min: least, Max: least + d.between(100*time.Microsecond, 3*ms)}
	if d.chance(4) {
		t.Latency.Max += d.between(ms, 30*ms)
	}
	if t.Replicas > 0 && !d.chance(3) {
		t.Lag = d.between(ms, 60*ms)
	}
	// Replicas of several primaries are many servers, and slow to play.
	d.s.Topology = t
	if d.s.World(d.lock).Groups > 1 && !t.Cluster && !d.chance(8) {
		d.s.Topology.Replicas, d.s.Topology.Lag = 0, 0
	}
}

func (d *draw) workload() {
	w := scenarios.Workload{
		Holds: d.number(1, 4), Lease: d.between(2000*ms, 10000*ms),
		Rest: d.between(0, 800*ms), Stagger: d.between(0, 500*ms),
	}
	if d.chance(6) { // longer than any timeout of a lock or a client
		w.Lease = d.between(10000*ms, 30000*ms)
	}
	lease := time.Duration(w.Lease)
	w.Think = d.work(lease)
	w.Wait = d.between(lease/4, 3*lease)
	w.Explicit = d.chance(4)
	if d.chance(5) {
		for range d.number(1, 2) {
			nested := faults.Duration(0)
			if d.chance(2) {
				nested = d.between(2000*ms, 20000*ms)
			}
			w.Nested = append(w.Nested, nested)
		}
		w.Unnest = d.chance(3)
	}
	if d.chance(4) {
		w.Poll = d.between(50*ms, 1500*ms)
	}
	if d.s.World(d.lock).Groups > 1 {
		w.Holds = min(w.Holds, 2)
	}
	d.s.Workload = w
}

// work draws a think time: mostly shorter than the lease, sometimes longer.
func (d *draw) work(lease time.Duration) faults.Duration {
	switch d.number(0, 9) {
	case 0:
		return d.between(lease, 5*lease/2)
	case 1, 2, 3:
		return d.between(lease/4, 9*lease/10)
	}
	return d.between(5*ms, lease/3)
}

// overrides lets some clients differ from the others.
func (d *draw) overrides() {
	for n := range d.s.Topology.Clients {
		if !d.chance(2) {
			continue
		}
		var o scenarios.Override
		if d.chance(2) {
			o.Think = new(d.work(d.lease()))
		}
		if d.chance(2) {
			o.Start = new(d.between(0, d.lease()))
		}
		if d.chance(3) {
			o.Holds = new(d.number(1, 2))
		}
		if d.chance(6) {
			o.Explicit = new(!d.s.Workload.Explicit)
		}
		if d.chance(12) && !d.Survivable && closes(d.lock) {
			o.Close = new(d.between(500*ms, 2*d.lease()))
		}
		if o == (scenarios.Override{}) {
			continue
		}
		search.Override(d.s, party.Client(n+1), func(old *scenarios.Override) { *old = o })
		if ok, _ := d.s.Applies(d.lock); !ok {
			delete(d.s.Override, party.Client(n+1))
		}
	}
}

// operations lets the clients take several permits, extend their holds, repeat what has no
// answer, or end their work with a shutdown. It also gives them owners and names of locks.
// It draws from a stream of its own.
func (d *draw) operations(rng *rand.Rand) {
	w := &d.s.Workload
	claims := d.lock.Claims
	if claims.Extends && rng.IntN(8) == 0 {
		longest := slices.Max(append(slices.Clone(w.Nested), w.Lease))
		w.Extend = longest + faults.Duration(time.Duration(rng.Int64N(int64(d.lease()))).Truncate(100*ms))
	}
	w.Shutdown = claims.ShutsDown && rng.IntN(16) == 0
	if claims.Weighted {
		w.Permits = rng.IntN(4)
	}
	if turn := []string{"", "", "downgrades", "upgrades"}; claims.ReadWrite {
		if w.Turn = turn[rng.IntN(len(turn))]; w.Turn != "" && !claims.Has(w.Turn) {
			w.Turn = ""
		}
	}
	w.RetryRelease, w.SameOwner = rng.IntN(4) == 0, rng.IntN(4) == 0
	cross.Vary(rng, d.lock, d.s)
	w.Shutdown = w.Shutdown && w.Owners < 2 // it would release the holds of the others
}

// faults draws one to four of the available faults, and sometimes none.
func (d *draw) faults(holes []Cell) {
	may := d.waits(d.some(d.rng))
	if len(may) == 0 || d.chance(12) {
		return // much goes wrong by itself
	}
	open := slices.DeleteFunc(slices.Clone(holes), func(c Cell) bool { return !slices.Contains(may, c.Fault) })
	if d.chance(3) {
		d.pair(may)
	}
	for range d.number(1, 3) {
		if len(d.s.Faults) == 4 {
			return
		}
		name, phase := may[d.rng.IntN(len(may))], Phase("")
		if len(open) > 0 && d.chance(2) {
			c := open[d.rng.IntN(len(open))]
			name, phase = c.Fault, c.Phase
		}
		for range attempts {
			if d.add(d.until(d.fault(name, phase))) {
				break
			}
		}
	}
}

// add adds faults, all or none: it rejects faults that the topology does not
// support.
func (d *draw) add(specs ...faults.Spec) bool {
	all := append(slices.Clone(d.s.Faults), specs...)
	if _, err := faults.NewSchedule(all, d.top, 0); err != nil {
		return false
	}
	if d.Survivable && !d.survivable(all) {
		return false
	}
	before := d.s.Faults
	d.s.Faults = all
	if ok, _ := d.s.Applies(d.lock); !ok {
		d.s.Faults = before
		return false
	}
	return true
}

func (d *draw) anyClient() string { return party.Client(d.number(1, d.top.Clients)) }

func (d *draw) another(than string) string {
	for {
		if c := d.anyClient(); c != than {
			return c
		}
	}
}

// primary is the name of a server that is a primary at the start.
func (d *draw) primary() string { return party.Node(d.number(1, d.top.Groups)) }

// replica is the name of some replica of a primary; there must be one.
func (d *draw) replica(of string) string {
	return party.Replica(of, d.number(1, d.top.Replicas))
}

// anyNode is the name of some server, more often a primary.
func (d *draw) anyNode() string {
	p := d.primary()
	switch {
	case d.top.Replicas > 0 && d.chance(4):
		return d.replica(p)
	case d.top.Groups == 1 && d.chance(4):
		return "primary"
	}
	return p
}

// strictMinority are the names of some servers, fewer than half of all; none if
// there is one server.
func (d *draw) strictMinority() []string {
	n := (d.top.Groups - 1) / 2
	if n == 0 {
		return nil
	}
	names := make([]string, d.top.Groups)
	for g := range names {
		names[g] = party.Node(g + 1)
	}
	d.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:d.number(1, n)]
	slices.Sort(names)
	return names
}
