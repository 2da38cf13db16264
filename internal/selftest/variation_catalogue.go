package selftest

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
)

//go:embed variations.yaml
var variationsYAML []byte

// ranged are the variations that draw each number from its own range, by
// scenario: see variations.yaml.
var ranged = func() (all map[string]yaml.MapSlice) {
	if err := yaml.Unmarshal(variationsYAML, &all); err != nil {
		panic(fmt.Sprintf("selftest: read variations.yaml: %v", err)) // a mistake in this program
	}
	return all
}()

// draw draws the number of a line of variations.yaml.
func (v *variation) draw(key, value string) {
	switch where, what, _ := strings.Cut(key, "."); where {
	case "spread":
		v.latency(duration(value), 40*time.Millisecond)
	case "wait":
		v.patience()
	case "clients":
		v.Topology.Clients = v.from(value)
	case "holds":
		v.Workload.Holds = v.from(value)
	case "others":
		for n := 3; n <= v.Topology.Clients; n++ {
			*v.timeOf(party.Client(n), what) = v.within(value)
		}
	default:
		*v.timeOf(where, what) = v.within(value)
	}
}

// timeOf finds a time of the workload, of a client's own workload, or of a fault.
func (v *variation) timeOf(where, what string) *faults.Duration {
	var n int
	w := &v.Workload
	if _, err := fmt.Sscanf(where, "fault-%d", &n); err == nil {
		f := &v.Faults[n-1]
		return map[string]*faults.Duration{"after": &f.After, "for": &f.For, "by": &f.By}[what]
	}
	if _, err := fmt.Sscanf(where, "client-%d", &n); err == nil {
		d := new(faults.Duration)
		search.Override(v.Scenario, party.Client(n), func(o *scenarios.Override) {
			*map[string]**faults.Duration{"think": &o.Think, "start": &o.Start, "close": &o.Close}[what] = d
		})
		return d
	}
	return map[string]*faults.Duration{"think": &w.Think, "rest": &w.Rest, "lease": &w.Lease, "stagger": &w.Stagger}[where]
}

// within draws a time from a range such as 50ms..1.5s.
func (v *variation) within(text string) faults.Duration {
	lo, hi, _ := strings.Cut(text, "..")
	return v.between(duration(lo), duration(hi))
}

// from draws a number from a range such as 3..5.
func (v *variation) from(text string) int {
	var lo, hi int
	if _, err := fmt.Sscanf(text, "%d..%d", &lo, &hi); err != nil {
		panic(fmt.Sprintf("selftest: read the range %q: %v", text, err)) // a mistake in this program
	}
	return v.number(lo, hi)
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("selftest: read variations.yaml: %v", err)) // a mistake in this program
	}
	return d
}

const ms = time.Millisecond

// related are the variations in which one number depends on another.
var related = map[string]func(v *variation){
	// No fault strikes, so all numbers vary: the clients, the holds, and their
	// times. The lease is at least four times the critical section, and the wait
	// covers all of them.
	"contention": func(v *variation) {
		v.latency(20*ms, 300*ms)
		v.Topology.Clients = v.number(2, 8)
		v.Workload.Holds = v.number(1, 30/v.Topology.Clients)
		think := v.think(5*ms, 1500*ms)
		v.Workload.Rest = v.between(0, 400*ms)
		v.Workload.Stagger = v.between(0, 300*ms)
		v.Workload.Lease = v.between(max(4*think, 2000*ms), 30000*ms)
		v.Workload.Explicit = v.chance(3)
		if v.chance(3) {
			v.Workload.Poll = v.between(50*ms, 1500*ms)
		}
		v.patience()
		v.Workload.MinGrants = v.Topology.Clients * v.Workload.Holds
	},
	// No fault strikes here either. A nested lease outlasts the work, so that no
	// hold ends before its release. The lock renews the outer lease, which may be
	// shorter than the work.
	"reentrancy": func(v *variation) {
		v.latency(20*ms, 300*ms)
		v.Topology.Clients = v.number(1, 4)
		v.Workload.Holds = v.number(1, 2)
		think := v.think(50*ms, 4000*ms)
		v.Workload.Rest = v.between(0, 400*ms)
		v.Workload.Lease = v.between(3000*ms, 12000*ms)
		v.Workload.Nested = nil
		for range v.number(1, 4) {
			lease := v.between(think+1500*ms, think+20000*ms)
			if v.chance(3) {
				lease = 0
			}
			v.Workload.Nested = append(v.Workload.Nested, lease)
		}
		v.patience()
		v.Workload.MinGrants = v.Topology.Clients * v.Workload.Holds * (1 + len(v.Workload.Nested))
	},
	// Client-2 releases its first hold before client-1 comes, at 3 s, and comes
	// back after it.
	"crash-between-commands": func(v *variation) {
		v.think(50*ms, 500*ms)
		v.Workload.Lease = v.between(6000*ms, 12000*ms)
		v.Workload.Rest = v.between(3500*ms, 4500*ms)
		v.Workload.Wait = v.Workload.Lease + faults.Duration(5000*ms)
		v.starts(3, 3800*ms, 4500*ms)
	},
	// A scan of set-px-renew, at 8 s, falls into the last third of leases from
	// 8.5 to 11.5 s. Client-1 outlives its lease by more than the others need,
	// and they finish before its release.
	"slow-holder": func(v *variation) {
		v.Workload.Lease = v.between(9000*ms, 11000*ms)
		lease := time.Duration(v.Workload.Lease)
		v.think(50*ms, 300*ms)
		search.Override(v.Scenario, party.Client(1), func(o *scenarios.Override) { o.Think = new(v.between(lease+1100*ms, lease+1800*ms)) })
		v.starts(2, 500*ms, 1500*ms)
		v.starts(3, 500*ms, 1500*ms)
	},
	// The SUBSCRIBE begins before the release and arrives after it, at most
	// 0.4 s late, and the hand-off allows 1 s.
	"slow-subscribe": func(v *variation) {
		hold := v.think(600*ms, 2000*ms)
		v.starts(2, hold-350*ms, hold-100*ms)
		v.Faults[0].By = v.between(400*ms, 550*ms)
		v.Workload.Lease = v.between(20000*ms, 40000*ms)
	},
	// The work is longer than the lease, with any number of clients.
	"inner-release": func(v *variation) {
		v.latency(20*ms, 40*ms)
		v.Topology.Clients = v.number(2, 3)
		v.think(6500*ms, 12000*ms)
		v.Workload.Rest = v.between(20*ms, 500*ms)
		v.patience()
		v.Workload.MinGrants = v.Topology.Clients * v.Workload.Holds * (1 + len(v.Workload.Nested))
	},
}
