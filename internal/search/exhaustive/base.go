// Package exhaustive plays every single fault at every moment of small workloads,
// or every pair of faults. If it finds no violation, no placement of them breaks a
// claim of the lock, for these workloads, faults and durations.
package exhaustive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/cross"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

const ms = faults.Duration(time.Millisecond)

// lease is the lease of every base but the crossed ones. A third of it, the client's
// timeout of 3 s, and the lease itself are far enough apart to separate the classes of
// durations.
const lease = 6000 * ms

// Base is a small workload without faults.
type Base struct {
	Name    string
	Summary string
	// needs are claims that a lock must make, in the words of a scenario.
	needs []string
	// only says which locks single faults play the base with; nil means all.
	only func(*locks.Lock) bool
	// pairs says that the base is small enough for every pair of faults on one machine.
	// Larger bases contain it, so single faults leave it out.
	pairs   bool
	clients int
	work    scenarios.Workload
	// override has the different settings of single clients.
	override map[string]scenarios.Override
	user     string // who plays it, as [suite.UsersOf] names them
}

// bases are all of them, for all locks.
var bases = []Base{
	{Name: "one-holder", Summary: "one client takes the lock twice", clients: 1,
		work: scenarios.Workload{Holds: 2, Think: 200 * ms, Rest: 300 * ms}},
	{Name: "same-owner", Summary: "one client acquires the lock three times as the same owner, whatever came of the time before", clients: 1,
		work: scenarios.Workload{Holds: 3, Think: 1500 * ms, SameOwner: true}},
	{Name: "holder-and-waiter", Summary: "one client holds, another waits for it", needs: []string{"waits"}, clients: 2,
		work: scenarios.Workload{Holds: 1, Think: 1500 * ms, Stagger: 400 * ms}},
	{Name: "two-tries", Summary: "two clients try twice without waiting", clients: 2,
		work:     scenarios.Workload{Holds: 2, Think: 300 * ms, Rest: 300 * ms, Stagger: 150 * ms},
		override: map[string]scenarios.Override{"client-1": {Wait: new(0 * ms)}, "client-2": {Wait: new(0 * ms)}}},
	{Name: "nested", Summary: "one client takes the lock inside its own hold", needs: []string{"reentrant"}, clients: 1,
		work: scenarios.Workload{Holds: 1, Think: 300 * ms, Nested: []faults.Duration{0}}},
	{Name: "nested-and-waiter", Summary: "one client takes the lock inside its own hold, another waits", needs: []string{"reentrant", "waits"}, clients: 2,
		work: scenarios.Workload{Holds: 1, Think: 1000 * ms, Stagger: 400 * ms, Nested: []faults.Duration{0}}},
	{Name: "renewed", Summary: "one client holds for longer than its lease, another waits", needs: []string{"renewal", "waits"}, clients: 2,
		work:     scenarios.Workload{Holds: 1, Think: 8000 * ms, Stagger: 6500 * ms},
		override: map[string]scenarios.Override{"client-2": {Think: new(200 * ms)}}},
	{Name: "explicit-lease", Summary: "two clients ask for a lease that nobody renews, the second waits", needs: []string{"lease", "explicit", "waits"}, clients: 2,
		work: scenarios.Workload{Holds: 1, Think: 1500 * ms, Stagger: 400 * ms, Explicit: true}},
	{Name: "release-and-take-again", Summary: "one client gives the lock back while another waits, and takes it again", needs: []string{"waits"}, clients: 2,
		work:     scenarios.Workload{Holds: 2, Think: 800 * ms, Stagger: 300 * ms},
		override: map[string]scenarios.Override{"client-2": {Holds: new(1)}}},
	{Name: "three", Summary: "one client holds, two wait for it", needs: []string{"waits"}, only: severalOrFair, clients: 3,
		work: scenarios.Workload{Holds: 1, Think: 800 * ms, Stagger: 300 * ms}},
	{Name: "two-places", Summary: "two owners of each client wait in one queue", needs: []string{"waits"}, only: fair, clients: 2,
		work: scenarios.Workload{Holds: 1, Owners: 2, Think: 800 * ms, Stagger: 300 * ms}},
	{Name: "renewed-twice", Summary: "one client holds twice for longer than its lease", needs: []string{"renewal"}, only: withoutNestedLeases, clients: 1,
		work: scenarios.Workload{Holds: 2, Think: 6500 * ms, Rest: 300 * ms}},
	{Name: "inner-release", Summary: "one client releases an inner hold, and holds on for longer than its lease", needs: []string{"reentrant", "renewal"}, clients: 1,
		work: scenarios.Workload{Holds: 1, Think: 6500 * ms, Nested: []faults.Duration{0}, Unnest: true}},
	{Name: "nested-leases", Summary: "one client takes the lock twice, each time with a shorter and with a longer lease inside", needs: []string{"reentrant", "renewal", "explicit"}, clients: 1,
		work: scenarios.Workload{Holds: 2, Think: 9000 * ms, Rest: 300 * ms, Nested: []faults.Duration{lease / 2, 2 * lease}}},
	{Name: "closed", Summary: "one client takes the lock twice, and closes it in the second hold", needs: []string{"closes", "lost_sign"}, only: onOnePrimary, clients: 1,
		work: scenarios.Workload{Holds: 2, Think: 600 * ms, Rest: 300 * ms, Close: 1200 * ms}},
	{Name: "one-hold", Summary: "one client takes the lock once", pairs: true, clients: 1,
		work: scenarios.Workload{Holds: 1, Think: 200 * ms}},
	{Name: "hold-and-try", Summary: "one client takes the lock once, another tries once meanwhile", pairs: true, clients: 2,
		work:     scenarios.Workload{Holds: 1, Think: 300 * ms, Stagger: 150 * ms},
		override: map[string]scenarios.Override{"client-2": {Wait: new(0 * ms)}}},
}

func fair(l *locks.Lock) bool          { return l.Claims.Fairness }
func severalOrFair(l *locks.Lock) bool { return l.Groups > 1 || fair(l) }
func onOnePrimary(l *locks.Lock) bool  { return l.Groups < 2 }

// withoutNestedLeases is about locks that do not play nested-leases, which contains more.
func withoutNestedLeases(l *locks.Lock) bool { return !l.Claims.Reentrant || !l.Claims.Explicit }

// crossed is the name of all workloads of [cross.Works], and begins that of each.
const crossed = "crossed-work"

// Names are the names of bases, and that of all crossed ones.
func Names() []string {
	return append(english.Words(bases, func(b Base) string { return b.Name }), crossed)
}

// crossedWorks are the crossed workloads of a lock as bases.
func crossedWorks(l *locks.Lock) (all []Base) {
	for i, s := range cross.Works(l) {
		all = append(all, Base{Name: fmt.Sprintf("%s-%d", crossed, i+1), Summary: strings.TrimPrefix(s.Title, "Crossed; "),
			clients: s.Topology.Clients, work: s.Workload, override: s.Override, user: s.Workload.User})
	}
	return all
}

// basesOf are the bases of single faults that a lock's claims allow, with each kind of
// user that a choice of [suite.UserChoices] allows.
func basesOf(l *locks.Lock, choice string) []Base {
	var some []Base
	for _, b := range bases {
		if !b.allows(l) || b.pairs || b.only != nil && !b.only(l) {
			continue
		}
		users, _ := suite.UsersOf(b.scenario(l), l, choice)
		for _, b.user = range users {
			some = append(some, b)
			if b.user != "" {
				some[len(some)-1].Name += "-" + b.user
			}
		}
	}
	return some
}

func (b Base) allows(l *locks.Lock) bool {
	ok, _ := b.scenario(l).Applies(l)
	return ok
}

// find returns the base with a name, or all crossed ones.
func find(l *locks.Lock, name string) ([]Base, error) {
	if strings.HasPrefix(name, crossed) {
		some := slices.DeleteFunc(crossedWorks(l), func(b Base) bool { return name != crossed && name != b.Name })
		if len(some) > 0 {
			return some, nil
		}
	}
	for _, b := range bases {
		if b.Name != name && b.Name+"-"+history.Careful != name {
			continue
		}
		if b.Name != name {
			b.Name, b.user = name, history.Careful
		}
		if b.allows(l) {
			return []Base{b}, nil
		}
	}
	unknown := &BaseError{name, l.Name(), english.Words(basesOf(l, suite.BothUsers), func(b Base) string { return b.Name })}
	for _, b := range bases { // that single faults leave out
		if b.allows(l) && !slices.Contains(unknown.Known, b.Name) {
			unknown.Known = append(unknown.Known, b.Name)
		}
	}
	unknown.Known = append(unknown.Known, crossed)
	return nil, unknown
}

// BaseError reports a base that a lock does not have.
type BaseError struct {
	Base, Lock string
	Known      []string // the bases it has
}

func (e *BaseError) Error() string {
	return fmt.Sprintf("%s has no base %q: it has %s", e.Lock, e.Base, english.And(e.Known))
}

// scenario is the base for a lock.
func (b Base) scenario(l *locks.Lock) *scenarios.Scenario {
	s := &scenarios.Scenario{
		Name:      b.Name,
		Title:     "Exhaustive: " + b.Summary,
		Story:     "A small workload, and faults that were placed at its moments.",
		Otherwise: "A lock keeps its promises whatever happens; what does not come out ok is a find.",
		Topology:  search.Topology(l, b.clients),
		Workload:  b.work,
		Override:  b.override,
		Needs:     b.needs,
	}
	s.Workload.Lease, s.Workload.Wait, s.Workload.Poll = cmp.Or(b.work.Lease, lease), 20000*ms, 1000*ms
	return s.PlayedBy(b.user)
}

func (b Base) with(l *locks.Lock, name string, all []faults.Spec) *scenarios.Scenario {
	s := b.scenario(l)
	s.Name, s.Faults = name, all
	return s
}
