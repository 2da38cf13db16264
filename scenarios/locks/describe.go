package locks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Description is the account that a lock gives of itself: its promises, by which it is
// judged, and its keys and servers.
type Description struct {
	// Name is the lock's name in commands and reports: lower case, digits and hyphens.
	Name    string         `json:"name"`
	Summary string         `json:"summary,omitempty"` // in a line
	Version string         `json:"version,omitempty"` // of the library
	Claims  history.Claims `json:"claims"`

	// RenewEvery is the longest gap between two renewals, as a part of the
	// lease: a watchdog that renews every third of it has 0.34.
	RenewEvery float64 `json:"renew_every,omitempty"`
	// HandoffNS is the time for which a waiter may overlook a free lock, in nanoseconds
	// at time scale 1. For a lock that polls it is the longest poll interval. 0 is a
	// second.
	HandoffNS int64 `json:"handoff_ns,omitempty"`

	// Drift is the drift of servers' clocks during a lease that the lock
	// survives; nil for none.
	Drift *Drift `json:"drift,omitempty"`
	// LeaseUnitNS is the unit to which the lock rounds a lease up, and LeaseMinNS its
	// shortest lease. LeaseSlackNS is the longest time by which it exceeds a lease.
	// MarginNS is the time before the end of its lease at which a holder is notified of
	// its loss. All are nanoseconds in the time of the run.
	LeaseUnitNS  int64 `json:"lease_unit_ns,omitempty"`
	LeaseMinNS   int64 `json:"lease_min_ns,omitempty"`
	LeaseSlackNS int64 `json:"lease_slack_ns,omitempty"`
	MarginNS     int64 `json:"margin_ns,omitempty"`

	// SessionNS, if not 0, means that a hold lasts as long as its session. It
	// is the longest time, in nanoseconds of the run, in which servers end a
	// hold after its process dies or its connection ends.
	SessionNS int64 `json:"session_ns,omitempty"`

	// Primaries is the number of independent primaries, by default one, and
	// Quorum the number of them that a hold needs, by default all.
	Primaries int `json:"primaries,omitempty"`
	Quorum    int `json:"quorum,omitempty"`
	// Key is the key of a lock on a server, with {name} for the lock's name; by
	// default {name} alone.
	Key string `json:"key,omitempty"`
	// Holder declares how that key shows the holder.
	Holder Holder `json:"holder,omitempty"`
	// Keeps are keys that may remain after all releases, written like Keys.
	Keeps []string `json:"keeps,omitempty"`
	// KeepsConnections says that connections last as long as their process, like
	// those of a client that nothing closes.
	KeepsConnections bool `json:"keeps_connections,omitempty"`
	// Reaches lists the ways in which the lock can find its primary, [ThroughAddress],
	// [ThroughSentinels] and [ThroughCluster]; by default all of them.
	Reaches []string `json:"reaches,omitempty"`
	// Acks is true if the lock waits for replicas, if there are any: it gets
	// the replicas of the scenario.
	Acks bool `json:"acks,omitempty"`
	// Known are known violations: a run is as expected with and without them.
	Known []Known `json:"known,omitempty"`
	// Servers, if not nil, are the lock's own servers instead of Redis.
	Servers *BundledServers `json:"servers,omitempty"`
}

// Drift is an allowance for the clocks of servers: Rate times the lease, plus
// ConstNS nanoseconds. Redlock's is 0.01 and 2 ms.
type Drift struct {
	Rate    float64 `json:"rate,omitempty"`
	ConstNS int64   `json:"const_ns,omitempty"`
}

// BundledServers are the servers that a lock brings instead of Redis. Each is a
// process of the adapter's own program, started with other arguments.
type BundledServers struct {
	Args    []string `json:"args"`    // after the command that started the adapter
	Members int      `json:"members"` // members of one service, of which one leads
	// Promoted is true if the members do not elect a leader. The harness promotes one by
	// name, as an operator does, and lets the others follow it.
	Promoted bool `json:"promoted,omitempty"`
	// TwoPeers is true if a member listens to the others on two addresses.
	TwoPeers bool `json:"two_peers,omitempty"`
	// Missing names what this machine lacks to start them; "" for nothing.
	Missing string `json:"missing,omitempty"`
}

// maxMembers bounds the number of bundled servers.
const maxMembers = 9

// The ways in which a lock can find its primary.
const (
	throughAddress   = "address"
	ThroughSentinels = "sentinels"
	ThroughCluster   = "cluster"
)

// Groups is the number of independent primaries of the lock, 1 or more.
func (d Description) Groups() int { return max(1, d.Primaries) }

// Needs is the number of primaries that a hold needs, 1 or more.
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

// MayStay reports whether a key may remain after all releases.
func (d Description) MayStay(name, key string) bool {
	return slices.ContainsFunc(d.Keeps, func(k string) bool { return matches(named(k, name), key) })
}

// HasKey reports whether a key is one of those from which Holders reads a lock.
func (s *Lock) HasKey(name, key string) bool {
	return key == s.Key(name) || slices.ContainsFunc(s.Keys, func(pattern string) bool { return matches(named(pattern, name), key) })
}

// SharesKey reports whether Holders reads every lock from a key.
func (s *Lock) SharesKey(key string) bool {
	return slices.ContainsFunc(s.Keys, func(pattern string) bool { return !strings.Contains(pattern, "{name}") && matches(pattern, key) })
}

// matches reports whether a key is a pattern with any text for {owner}.
func matches(pattern, key string) bool {
	before, after, open := strings.Cut(pattern, "{owner}")
	if !open {
		return key == before
	}
	return len(key) >= len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

func named(pattern, name string) string { return strings.ReplaceAll(pattern, "{name}", name) }

// CanReach reports whether the lock can find its primary in a way, such as
// [ThroughSentinels].
func (d Description) CanReach(through string) bool {
	return len(d.Reaches) == 0 || slices.Contains(d.Reaches, through)
}

const (
	// defaultHandoff is the hand-off of a waiting lock that declares none.
	defaultHandoff = time.Second
	// maxHandoff bounds the declared hand-off.
	maxHandoff = time.Hour
)

// Check returns nil, or the first defect of a description.
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
	case c.Conflict() != "":
		return wrong("%s", c.Conflict())
	case c.PrefersWriters && !c.Waits:
		return wrong(`"prefers_writers" is about those who wait, and needs the claim "waits"`)
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
		return wrong(`"key" must contain {name}: leave it out, and put a key that several locks share into "keys"`)
	case !d.Holder.known():
		return wrong(`"holder" must be "first" or "last" of a list, "lowest" of a sorted set, the only "member" of a set, or "none"`)
	case c.Capacity() > 1 && d.Holder != HolderValue && d.Holder != HolderNone:
		return wrong(`"holder" shows one holder, and a lock with "permits" or "read_write" has several`)
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
		if r != throughAddress && r != ThroughSentinels && r != ThroughCluster {
			return wrong(`%q is nothing to find a primary through`, r)
		}
	}
	return nil
}
