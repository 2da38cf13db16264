// Package cross enumerates small workloads by their features, and faults by the request
// that they meet. Its workloads are the rows of a covering array: each two values that go
// together are in some row. Catalogues of pairwise tests have the method; see Cohen,
// Dalal, Fredman and Patton, "The AETG System" (1997), for the greedy construction.
package cross

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const ms = faults.Duration(time.Millisecond)

// The times of the workloads. None is a multiple of another, or of a timeout that locks
// and clients commonly have.
const (
	lease   = 5300 * ms
	short   = 370 * ms
	long    = 4100 * ms
	past    = 7900 * ms
	rest    = 290 * ms
	stagger = 410 * ms
	patient = 21700 * ms
	brief   = 130 * ms
	rare    = 1900 * ms
	briefer = 2700 * ms // the lease of a rival for another name
	late    = 3100 * ms // the lease of a rival outlasts a first one of work past the lease
	prompt  = 310 * ms  // much longer than a message, and shorter than most polls
	away    = 830 * ms  // long enough to see whether a waiter takes a free lock
)

// feature is a feature of a workload with its values, the plainest first.
type feature struct {
	name   string
	values []value
}

// value is a value of a feature.
type value struct {
	name string
	// can reports whether a lock can do it; nil stands for every lock.
	can func(*locks.Lock) bool
	put func(*scenarios.Scenario)
	// op is the request that the fault meets, for a value of the last feature.
	op string
	// leaves is true if the fault only ends the wait of a caller.
	leaves bool
}

func plain(*scenarios.Scenario) {}

// rivals are the clients that ask for the lock beside the first one.
func rivals(s *scenarios.Scenario, change func(*scenarios.Override)) {
	for _, name := range []string{"client-2", "client-3"} {
		search.Override(s, name, change)
	}
}

var work = []feature{
	{"owners", []value{
		{name: "one", put: plain},
		{name: "two", put: func(s *scenarios.Scenario) { s.Workload.Owners = 2 }},
		{name: "three", put: func(s *scenarios.Scenario) { s.Workload.Owners = 3 }},
	}},
	{"names", []value{
		{name: "one", put: plain},
		{name: "two, rivals with a shorter lease", put: func(s *scenarios.Scenario) {
			s.Workload.Locks = []string{"stock", "orders"}
			rivals(s, func(o *scenarios.Override) { o.Lease = new(briefer) })
		}},
		{name: "two at once", put: func(s *scenarios.Scenario) {
			s.Workload.Locks, s.Workload.Together = []string{"stock", "orders"}, true
		}},
		{name: "a prefix", put: func(s *scenarios.Scenario) { s.Workload.Locks = []string{"stock", "stock-2"} }},
	}},
	{"permits", []value{
		{name: "one", put: plain},
		{name: "one to three", can: func(l *locks.Lock) bool { return l.Claims.Weighted },
			put: func(s *scenarios.Scenario) { s.Workload.Permits = 3 }},
	}},
	{"turn", []value{
		{name: "none", put: plain},
		{name: "from a writer to a reader", can: func(l *locks.Lock) bool { return l.Claims.Downgrades },
			put: func(s *scenarios.Scenario) { s.Workload.Turn = "downgrades" }},
		{name: "from a reader to a writer", can: func(l *locks.Lock) bool { return l.Claims.Upgrades },
			put: func(s *scenarios.Scenario) { s.Workload.Turn = "upgrades" }},
	}},
	{"lease", []value{
		{name: "the lock's own", put: plain},
		{name: "explicit", can: func(l *locks.Lock) bool { return l.Claims.Explicit },
			put: func(s *scenarios.Scenario) { s.Workload.Explicit = true }},
	}},
	{"work", []value{
		{name: "short", put: plain},
		{name: "long", put: func(s *scenarios.Scenario) { s.Workload.Think = long }},
		{name: "past the lease", put: func(s *scenarios.Scenario) { s.Workload.Think = past }},
	}},
	{"extension", []value{
		{name: "none", put: plain},
		{name: "once", can: func(l *locks.Lock) bool { return l.Claims.Extends },
			put: func(s *scenarios.Scenario) { s.Workload.Extend = lease + long }},
	}},
	{"nesting", []value{
		{name: "none", put: plain},
		{name: "inside", can: reentrant, put: func(s *scenarios.Scenario) { s.Workload.Nested = []faults.Duration{0} }},
		{name: "released before the work", can: reentrant, put: func(s *scenarios.Scenario) {
			s.Workload.Nested, s.Workload.Unnest = []faults.Duration{0}, true
		}},
		{name: "with a longer lease", can: reentrant, put: func(s *scenarios.Scenario) { s.Workload.Nested = []faults.Duration{lease + short} }},
		{name: "with a shorter lease", can: reentrant, put: func(s *scenarios.Scenario) { s.Workload.Nested = []faults.Duration{lease - short} }},
	}},
	{"observation", []value{
		{name: "none", put: plain},
		{name: "often", can: func(l *locks.Lock) bool { return l.Claims.Observes }, put: func(s *scenarios.Scenario) { s.Workload.Observe = short }},
	}},
	{"end", []value{
		{name: "a release", put: plain},
		{name: "a release, repeated until its outcome is known", put: func(s *scenarios.Scenario) { s.Workload.RetryRelease = true }},
		{name: "a shutdown", can: func(l *locks.Lock) bool { return l.Claims.ShutsDown },
			put: func(s *scenarios.Scenario) { s.Override["client-1"] = scenarios.Override{Shutdown: new(true)} }},
		{name: "a close", can: func(l *locks.Lock) bool { return l.Claims.Closes },
			put: func(s *scenarios.Scenario) { s.Override["client-1"] = scenarios.Override{Close: new(1300 * ms)} }},
		{name: "a crash", put: func(s *scenarios.Scenario) {
			on := &faults.Anchor{Moment: faults.Granted, Client: "client-1", Nth: 2}
			s.Faults = append(s.Faults, faults.CrashOf("client-1", on, 110*ms))
		}},
	}},
	{"owner", []value{
		{name: "a new one after an unknown outcome", put: plain},
		{name: "the same", put: func(s *scenarios.Scenario) { s.Workload.SameOwner = true }},
	}},
	{"user", []value{
		{name: "works to the end", put: func(s *scenarios.Scenario) { s.Workload.User = history.Careless }},
		{name: "stops at a loss", can: func(l *locks.Lock) bool { return l.HasCarefulUser() },
			put: func(s *scenarios.Scenario) { s.Workload.User = history.Careful }},
	}},
	{"rival", []value{
		{name: "somebody", put: func(s *scenarios.Scenario) { s.Topology.Clients = 2 }},
		{name: "nobody", put: plain},
		{name: "a stream", put: func(s *scenarios.Scenario) {
			s.Topology.Clients = 3
			rivals(s, func(o *scenarios.Override) { o.Holds = new(3) })
		}},
		{name: "a waiter, and one that only tries", put: func(s *scenarios.Scenario) {
			s.Topology.Clients = 3
			search.Override(s, "client-3", func(o *scenarios.Override) { o.Wait, o.Holds = new(0*ms), new(25) })
		}},
	}},
	{"arrival of a rival", []value{
		{name: "soon", put: plain},
		{name: "late in a lease", put: func(s *scenarios.Scenario) { s.Workload.Stagger = late }},
	}},
	{"wait of a rival", []value{
		{name: "long", put: plain},
		{name: "none", put: func(s *scenarios.Scenario) { rivals(s, func(o *scenarios.Override) { o.Wait = new(0 * ms) }) }},
		{name: "shorter than a hold", put: func(s *scenarios.Scenario) { rivals(s, func(o *scenarios.Override) { o.Wait = new(brief) }) }},
		{name: "ended by its caller", can: func(l *locks.Lock) bool { return l.Claims.Cancels }, put: func(s *scenarios.Scenario) {
			cancel := befallThat(func(t history.Traits) bool { return t.Cancels })
			cancel.Target, cancel.After = faults.Names{"client-2"}, brief
			cancel.On = &faults.Anchor{Moment: faults.Invoked, Client: "client-2", Op: "acquire", Nth: 2}
			s.Faults = append(s.Faults, cancel)
		}},
	}},
	{"looks of a waiter", []value{
		{name: "the lock's own", put: plain},
		{name: "rare", can: func(l *locks.Lock) bool { return l.Claims.Waits }, put: func(s *scenarios.Scenario) { s.Workload.Poll = rare }},
		{name: "too rare to replace a message", can: func(l *locks.Lock) bool { return l.Claims.Messages },
			put: func(s *scenarios.Scenario) { s.Workload.Poll, s.Workload.Handoff, s.Workload.Rest = rare, prompt, away }},
	}},
}

func reentrant(l *locks.Lock) bool { return l.Claims.Reentrant }

// befallThat is the first befall with a trait.
func befallThat(is func(history.Traits) bool) faults.Spec {
	all := faults.Befalls()
	return all[slices.IndexFunc(all, func(b faults.Befall) bool { return is(b.Spec.Traits()) })].Spec
}

// roles are the requests that a fault may meet: the operation, and how many of them.
var roles = []struct {
	op  string
	nth int
}{{"acquire", 3}, {"release", 2}, {"background", 2}, {"extend", 1}}

// strikes are the values of the last feature: a fault for each request and befall.
func strikes(l *locks.Lock) feature {
	f := feature{name: "fault", values: []value{{name: "none", put: plain}}}
	for _, r := range roles {
		if r.op == "background" && !l.Claims.Renewal || r.op == "extend" && !l.Claims.Extends {
			continue
		}
		for nth := 1; nth <= r.nth; nth++ {
			for _, b := range faults.Befalls() {
				if b.Spec.Traits().Cancels && (!l.Claims.Cancels || r.op == "background" || r.op == "extend") {
					continue
				}
				spec := b.Spec
				spec.On = &faults.Anchor{Moment: b.Moment, Client: "client-1", Op: r.op, Nth: nth}
				spec.Target = faults.Names{"client-1"}
				if b.OnNode() {
					spec.Target = faults.Names{"node-1"}
				}
				f.values = append(f.values, value{
					name: fmt.Sprintf("request %d of %s %s", nth, r.op, b.What), op: r.op, leaves: b.Spec.Traits().Cancels && r.op == "acquire",
					put: func(to *scenarios.Scenario) { to.Faults = append(to.Faults, spec) },
				})
			}
		}
		if l.Groups > 1 && r.op != "background" {
			f.values = append(f.values, alone(r.op, l.Groups))
		}
	}
	return f
}

// alone is an operation whose requests reach one server and not the others.
func alone(op string, servers int) value {
	spec := befallThat(func(t history.Traits) bool { return t.Cuts })
	spec.For, spec.Target, spec.On = past, faults.Names{"client-1"}, &faults.Anchor{Moment: faults.Invoked, Client: "client-1", Op: op, Nth: 2}
	for n := 2; n <= servers; n++ {
		spec.Peer = append(spec.Peer, party.Node(n))
	}
	return value{name: fmt.Sprintf("one server alone hears of %s 2", op), op: op, put: func(to *scenarios.Scenario) { to.Faults = append(to.Faults, spec) }}
}
