package subject

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Description is what a lock says of itself: what it promises, which is what
// it is judged by, and where it lives on servers.
type Description struct {
	// Name is the lock's in commands and reports: lower case, digits and hyphens.
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"` // in a line
	Version string `json:"version,omitempty"` // of the library
	Claims  Claims `json:"claims"`

	// RenewEvery is the longest gap between two renewals, as a part of the
	// lease: a watchdog that renews every third of it has 0.34.
	RenewEvery float64 `json:"renew_every,omitempty"`
	// HandoffNS is how long a waiter may overlook a free lock, in nanoseconds
	// of a world where a second is a second: for a lock that polls, the longest
	// time between two looks. 0 is a second.
	HandoffNS int64 `json:"handoff_ns,omitempty"`

	// Drift is how far servers' clocks may drift during a lease before the lock
	// may break; nil for not at all.
	Drift *Drift `json:"drift,omitempty"`
	// LeaseUnitNS is what the lock rounds a lease up to, LeaseMinNS its shortest
	// lease, LeaseSlackNS how much longer than asked it keeps one, and MarginNS how
	// long before the end of its lease a holder is told of its loss. All are in
	// nanoseconds, in the time of the run.
	LeaseUnitNS  int64 `json:"lease_unit_ns,omitempty"`
	LeaseMinNS   int64 `json:"lease_min_ns,omitempty"`
	LeaseSlackNS int64 `json:"lease_slack_ns,omitempty"`
	MarginNS     int64 `json:"margin_ns,omitempty"`

	// SessionNS says that a hold lasts as long as its session: it is how long
	// servers may take to end a hold whose process has died, or whose connection
	// has ended, in the time of the run. 0 says nothing of that.
	SessionNS int64 `json:"session_ns,omitempty"`

	// Primaries is how many independent primaries the lock lives on, by default
	// one, and Quorum on how many of them a hold must be, by default all.
	Primaries int `json:"primaries,omitempty"`
	Quorum    int `json:"quorum,omitempty"`
	// Key is the key of a lock on a server, with {name} for the lock's name; by
	// default {name} alone.
	Key string `json:"key,omitempty"`
	// Holder is how that key tells who holds the lock.
	Holder Holder `json:"holder,omitempty"`
	// Keeps are keys that may stay behind when everybody has let go, with
	// {name} for the lock's name.
	Keeps []string `json:"keeps,omitempty"`
	// KeepsConnections says that connections last as long as their process, as
	// those of a client that nothing closes.
	KeepsConnections bool `json:"keeps_connections,omitempty"`
	// Reaches is through what the lock can find its primary, [ThroughAddress],
	// [ThroughSentinels] and [ThroughCluster]; by default all of them.
	Reaches []string `json:"reaches,omitempty"`
	// Acks says that the lock waits for replicas where there are some: it is
	// given those that a scenario has.
	Acks bool `json:"acks,omitempty"`
	// Known are violations that the lock is known for: a run that shows one is
	// as expected, and so is one that does not.
	Known []Known `json:"known,omitempty"`
	// Servers, when not nil, are those that the lock lives on instead of Redis,
	// and brings along.
	Servers *BundledServers `json:"servers,omitempty"`
}

// Drift is an allowance for the clocks of servers: a part of the lease, and so
// much more. Redlock's is 0.01 and 2 ms.
type Drift struct {
	Rate    float64 `json:"rate,omitempty"`
	ConstNS int64   `json:"const_ns,omitempty"`
}

// BundledServers are the servers that a lock lives on and brings along. Each is a
// process of the worker's own program, started with other arguments.
type BundledServers struct {
	Args    []string `json:"args"`    // after the command that started the worker
	Members int      `json:"members"` // how many serve as one, of which one leads
	// Promoted says that the members elect nobody: the harness promotes one by
	// name, as an operator does, and lets the others follow it.
	Promoted bool `json:"promoted,omitempty"`
	// TwoPeers says that a member listens to the others at two addresses.
	TwoPeers bool `json:"two_peers,omitempty"`
	// Missing says what this machine lacks to start them; "" for nothing.
	Missing string `json:"missing,omitempty"`
}

// maxMembers bounds how many servers a lock may bring along.
const maxMembers = 9

// Claims are what a lock promises. Whatever follows from a promise that is not
// made is not judged.
type Claims struct {
	Waits     bool `json:"waits,omitempty"`      // an acquire waits until its time is over; without it every acquire is one try
	Cancels   bool `json:"cancels,omitempty"`    // an operation ends when its caller's context does
	Closes    bool `json:"closes,omitempty"`     // the lock can be closed while it is in use
	Reentrant bool `json:"reentrant,omitempty"`  // an owner can take a lock that it has once more
	Lease     bool `json:"lease,omitempty"`      // a hold ends by itself
	Explicit  bool `json:"explicit,omitempty"`   // an acquire can have a lease of its own, which is not renewed
	Renewal   bool `json:"renewal,omitempty"`    // a hold without a lease of its own is renewed while its process lives
	LostSign  bool `json:"lost_sign,omitempty"`  // a holder is told when its hold is lost
	Fencing   bool `json:"fencing,omitempty"`    // every hold has a token greater than all before
	Fairness  bool `json:"fairness,omitempty"`   // who came first is granted first
	TakesBack bool `json:"takes_back,omitempty"` // an acquire that ends without a grant leaves nothing behind
	Messages  bool `json:"messages,omitempty"`   // waiters are woken by a message on a channel of Redis
}

// Known is a violation that a lock is known for.
type Known struct {
	Scenario string `json:"scenario"`
	Property string `json:"property"`
	Because  string `json:"because"` // with the tracker's number, where there is one
}

// What a lock finds its primary through.
const (
	ThroughAddress   = "address"
	ThroughSentinels = "sentinels"
	ThroughCluster   = "cluster"
)

// Groups is how many independent primaries the lock lives on, 1 or more.
func (d Description) Groups() int { return max(1, d.Primaries) }

// Needs is on how many of the primaries a hold must be, 1 or more.
func (d Description) Needs() int {
	if d.Quorum > 0 {
		return d.Quorum
	}
	return d.Groups()
}

// KeyOf is the key of a lock on a server.
func (d Description) KeyOf(name string) string {
	if d.Key == "" {
		return name
	}
	return named(d.Key, name)
}

// MayStay says whether a key may stay behind when everybody has let go.
func (d Description) MayStay(name, key string) bool {
	return slices.ContainsFunc(d.Keeps, func(k string) bool { return named(k, name) == key })
}

func named(pattern, name string) string { return strings.ReplaceAll(pattern, "{name}", name) }

// CanReach says whether the lock finds its primary through something.
func (d Description) CanReach(through string) bool {
	return len(d.Reaches) == 0 || slices.Contains(d.Reaches, through)
}

const (
	// defaultHandoff is what a lock that waits promises as its hand-off where it
	// does not say.
	defaultHandoff = time.Second
	// maxHandoff bounds what a lock may promise.
	maxHandoff = time.Hour
)

// Check says what is wrong with a description.
func (d Description) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the description of %q: %w", d.Name, fmt.Errorf(format, args...))
	}
	if d.Name == "" {
		return errors.New(`a lock needs a "name"`)
	}
	if strings.Trim(d.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(d.Name) > 40 {
		return wrong(`"name" must be at most 40 lower case letters, digits and hyphens`)
	}
	switch c := d.Claims; {
	case d.Primaries < 0 || d.Primaries > 9:
		return wrong(`"primaries" must be from 1 to 9`)
	case d.Quorum < 0 || d.Quorum > d.Groups():
		return wrong(`"quorum" must be at most "primaries"`)
	case c.Renewal && !c.Lease:
		return wrong(`what "renewal" renews is a "lease"`)
	case c.Renewal != (d.RenewEvery > 0):
		return wrong(`"renewal" and "renew_every" go together`)
	case d.RenewEvery < 0 || d.RenewEvery >= 1:
		return wrong(`"renew_every" is a part of the lease, above 0 and below 1`)
	case d.HandoffNS < 0 || d.HandoffNS > int64(maxHandoff):
		return wrong(`"handoff_ns" must be from 0 to an hour`)
	case d.SessionNS < 0:
		return wrong(`"session_ns" must not be negative`)
	case d.LeaseUnitNS < 0 || d.LeaseMinNS < 0 || d.LeaseSlackNS < 0 || d.MarginNS < 0:
		return wrong(`"lease_unit_ns", "lease_min_ns", "lease_slack_ns" and "margin_ns" must not be negative`)
	case d.Drift != nil && (d.Drift.Rate < 0 || d.Drift.Rate >= 1 || d.Drift.ConstNS < 0):
		return wrong(`"drift" needs a "rate" from 0 to below 1 and a "const_ns" of at least 0`)
	case d.Key != "" && !strings.Contains(d.Key, "{name}"):
		return wrong(`"key" must contain {name}`)
	case !d.Holder.known():
		return wrong(`"holder" must be "first" or "last" of a list, "lowest" of a sorted set, the only "member" of a set, or "none"`)
	}
	if o := d.Servers; o != nil {
		switch {
		case len(o.Args) == 0:
			return wrong(`"servers" need "args", or they are workers`)
		case o.Members < 1 || o.Members > maxMembers:
			return wrong(`"members" must be from 1 to %d`, maxMembers)
		case d.Groups() > 1 || len(d.Reaches) > 0 || d.Claims.Messages:
			return wrong(`with "servers" there is no Redis that "primaries", "reaches" or "messages" could be about`)
		}
	}
	for _, r := range d.Reaches {
		if r != ThroughAddress && r != ThroughSentinels && r != ThroughCluster {
			return wrong(`%q is nothing to find a primary through`, r)
		}
	}
	return nil
}
