package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// World is the place a scenario runs in, as far as a fault can reach it. The
// simulated and the real world both implement it. Clients are named
// "client-1", "client-2", ...; servers "node-1", "node-2", ... for the
// primaries as they were at the start, "node-1-replica-1", ... for their
// replicas. Every method returns an error that says why it could not strike.
type World interface {
	// Pause freezes a client process, Resume lets it go on.
	Pause(client string) error
	Resume(client string) error
	// Crash ends a client process without a chance to clean up.
	Crash(client string) error
	// Cancel ends the context of the operation the client is in.
	Cancel(client string) error

	Attacher
	// Reset breaks every connection of a link at once; new ones may be opened.
	Reset(l Link) error
	// HoldRequest holds one request over a link from a client, after it has
	// reached the node and before it is executed, until release; everything
	// behind it on its connection waits too. Called from within the moment
	// [Received] of a request over the link it is that request, else the next
	// one. The node executes it then even if its client has closed the
	// connection.
	HoldRequest(l Link) (release func(), err error)
	// Refuse lets nobody open a connection over a link until allow.
	Refuse(l Link) (allow func(), err error)
	// HalfOpen ends the open connections of a link at the end of one of its two
	// parties, gone, and the other end hears nothing until it is told: then they
	// break there too. Neither end gets anything from the other any more, except
	// that a node gets what the client had sent before. New connections work.
	HalfOpen(l Link, gone string) (tell func(), err error)

	// StopNode kills a server: its connections break and no new one is
	// accepted. StartNode starts it again, with the data it had or empty.
	StopNode(node string) error
	StartNode(node string, keepData bool) error
	// Prefer makes a replica the one that takes over should its primary die,
	// where others than the fault decide that.
	Prefer(replica string) error
	// Promote makes a replica the primary of its group. What had not reached
	// it is lost. Clients are sent to it from now on, unless they are
	// isolated from it; the old primary is left as it is.
	Promote(replica string) error
	// Follow makes a node a replica of the current primary of its group: it
	// drops its own data and takes the primary's.
	Follow(node string) error
	// HandOver lets a replica take over in order: its primary follows it, and
	// clients are sent to it from now on. What replication is late with may be
	// lost.
	HandOver(replica string) error
	// Primary names the node that clients of a group are sent to. Groups are
	// counted from 1; group n starts with primary "node-n".
	Primary(group int) string

	// SetClock moves a server's clock by jump and lets it run at rate times
	// real speed from now on (1 is true time).
	SetClock(node string, jump time.Duration, rate float64) error
	// FlushScripts forgets a server's script cache.
	FlushScripts(node string) error
	// DeleteLock deletes the lock's keys on a server, as an eviction or an
	// operator would.
	DeleteLock(node string) error
}

// Attacher is what toxics can be attached to.
type Attacher interface {
	// Attach puts a toxic on every connection of a link, present and future,
	// in one direction, and returns the function that takes it off again.
	Attach(l Link, dir stream.Direction, t toxics.Toxic) (detach func(), err error)
}

// Link is the path between two parties, a client and a server or a primary and
// its replica. From is the side that connects: the client, or the replica.
// Upstream runs from From to To.
type Link struct{ From, To string }

// Topology is what a scenario's world is made of; a fault looks at it to say
// whether it can strike there.
type Topology struct {
	World    string // "sim" or "live"
	Clients  int
	Groups   int // independent primaries
	Replicas int // replicas of each primary
	Cluster  bool
}

// each strikes the parties in order. When one cannot be struck, those struck
// before are healed again, so that a fault happens to all or to none. The heal
// it returns undoes them in the same order and goes on past errors.
func each(names []string, strike func(name string) (heal func() error, err error)) (heal func() error, err error) {
	var heals []func() error
	undo := func() error {
		var errs []error
		for _, h := range heals {
			errs = append(errs, h())
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		h, err := strike(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), undo())
		}
		if h != nil {
			heals = append(heals, h)
		}
	}
	return undo, nil
}

// once is each for faults that do not last.
func once(names []string, strike func(name string) error) error {
	_, err := each(names, func(name string) (func() error, error) { return nil, strike(name) })
	return err
}
