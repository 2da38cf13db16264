package main

import (
	"time"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/holdfast-go/holdfast/live/worker"
)

// The locks, which differ in whether the resource is shown a token.
const (
	plain  = "etcd"
	fenced = "etcd-fenced"
)

// members is how many servers a run gets: enough for a majority without one.
const members = 3

// handoff is what lies between the end of a lease and its revocation: a leader
// looks for leases that are over twice in a second, and one that was elected
// meanwhile gives each of them its whole time once more.
const handoff = 2 * time.Second

// locks describes what the process has. Renewal is not claimed, although it
// happens: the keepalives of a lease change no key, and nobody could judge them.
func locks() []worker.Description {
	d := worker.Description{
		Name: plain, Summary: "etcd's concurrency.Mutex, a session for each owner, on three members", Version: version.Version,
		Claims: worker.Claims{
			Waits: true, Cancels: true, Lease: true, LostSign: true, Fairness: true, TakesBack: true,
		},
		HandoffNS: handoff.Nanoseconds(),
		Servers:   &worker.OwnServers{Args: []string{serveRole}, Members: members},
	}
	f := d
	f.Name, f.Summary, f.Claims.Fencing = fenced, "the same, with the revision of the grant as a token that the resource checks", true
	return []worker.Description{d, f}
}
