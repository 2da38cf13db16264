package main

import (
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios/locks"
	"go.etcd.io/etcd/api/v3/version"
)

// The locks: the Mutex, whose resource may be shown a token, and the Election, whose
// observers ask for the leader or follow a watch. The last is the RWMutex of the recipes.
const (
	plain   = "etcd"
	fenced  = "etcd-fenced"
	elected = "etcd-election"
	watched = "etcd-election-observe"
	both    = "etcd-read-write"
)

var kinds = []string{plain, fenced, elected, watched, both}

// members is the number of servers of a run: enough for a majority without one.
const members = 3

// handoff is the time between the end of a lease and its revocation. A leader looks for
// leases that are over twice in a second. One that was elected meanwhile gives each of
// them its whole time once more.
const handoff = 2 * time.Second

// late is the reason for a session that is done after its lease.
const late = "a session counts its lease from when the answer to a keepalive arrives, not from when it was asked for, " +
	"and looks once in a second whether it is over"

// unnoticed is the reason for a release of a lost hold that succeeds.
const unnoticed = "Mutex.Unlock does not look whether it deleted anything, and a holder that wakes up after its lease " +
	"may release before its session has noticed the end"

// describe says what the process has. A lease is kept alive every third of it, or at the
// next of the looks that the client takes twice in a second. No judge can see that, as it
// changes no key; what is known of a hold follows from it all the same.
func describe() []locks.Description {
	d := locks.Description{
		Name: plain, Summary: "etcd's concurrency.Mutex, a session for each owner, on three members", Version: version.Version,
		Claims: history.Claims{
			Waits: true, Cancels: true, Lease: true, Renewal: true, LostSign: true, Fairness: true, TakesBack: true,
		},
		RenewEvery: 0.4, HandoffNS: handoff.Nanoseconds(),
		Known: []locks.Known{
			{Scenario: "partitioned-holder", Property: "exclusion", Because: late},
			{Scenario: "slow-link-then-cut", Property: "exclusion", Because: late},
			{Scenario: "holder-pause", Property: "linearizable", Because: unnoticed},
		},
		Servers: &locks.BundledServers{Args: []string{serveRole}, Members: members},
	}
	f := d
	f.Name, f.Summary, f.Claims.Fencing = fenced, "the same, with the revision of the grant as a token that the resource checks", true
	e := f
	e.Name, e.Summary, e.Claims.Observes = elected, "etcd's concurrency.Election, whose observers ask Leader, with its revision as a token", true
	w := e
	w.Name, w.Summary = watched, "the same, whose observers keep the last value of Observe"
	b := d
	b.Name, b.Summary = both, "RWMutex of etcd's recipes, which are experimental, a session for each owner"
	b.Claims.Fairness, b.Claims.ReadWrite, b.Claims.PrefersWriters = false, true, true
	b.Known = nil
	return []locks.Description{d, f, e, w, b}
}
