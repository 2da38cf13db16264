package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// boundedSuffix ends the names of locks whose sessions the server ends when they are
// silent for a lease.
const boundedSuffix = "-timeout"

// members is the number of servers of a run: a primary and a replica.
const members = 2

const (
	// handoff is the time for which a waiter that the server wakes may overlook a free
	// lock.
	handoff = 100 * time.Millisecond
	// noticed is the time that a server may take to end the session of a process that has
	// died, or whose connection has ended.
	noticed = time.Second
)

// describe says what the process has.
func describe() []locks.Description {
	var all []locks.Description
	for _, base := range databases {
		all = append(all, base.describe(row, "a row with a unique key, an owner, an end and a token", false))
		for _, name := range slices.Sorted(maps.Keys(base.kinds)) {
			k := base.kinds[name]
			all = append(all, base.describe(name, k.summary, false),
				base.describe(name, fmt.Sprintf("the same, with %s, and a holder that speaks to the server each third of it", k.setting), true))
		}
	}
	return all
}

func (base *database) describe(kind, summary string, bounded bool) locks.Description {
	d := locks.Description{
		Name: base.name + "-" + kind, Summary: summary, Version: base.version(), HandoffNS: handoff.Nanoseconds(),
		Claims:  history.Claims{Waits: true, Cancels: true, TakesBack: true},
		Servers: &locks.BundledServers{Args: []string{base.name}, Members: members, Promoted: true, Missing: base.missing()},
	}
	if kind != row {
		d.SessionNS = noticed.Nanoseconds()
	}
	switch {
	case kind == row:
		d.Claims.Lease, d.Claims.Explicit, d.Claims.Fencing = true, true, true
		d.HandoffNS = 2 * pollEvery.Nanoseconds()
	case bounded:
		d.Name += boundedSuffix
		d.Claims.Lease, d.Claims.Renewal, d.Claims.LostSign = true, true, true
		d.RenewEvery, d.MarginNS = 0.4, margin.Nanoseconds()
		if base.unit > time.Millisecond {
			d.LeaseUnitNS = base.unit.Nanoseconds()
		}
	}
	return d
}
