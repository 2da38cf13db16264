package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// World is the interface of both worlds for faults. Clients are named "client-1",
// "client-2", ...; servers "node-1", "node-2", ... for the first primaries, and
// "node-1-replica-1", ... for their replicas. Every method returns an error if it
// could not strike, with the reason.
type World interface {
	// Pause freezes a client process; Resume continues it.
	Pause(client string) error
	Resume(client string) error
	// Crash ends a client process without a chance to clean up.
	Crash(client string) error
	// Cancel ends the context of the client's operation: of several, the first or the last.
	Cancel(client string, first bool) error

	attacher
	// Reset breaks every connection of a link at once; clients may open new ones.
	Reset(l Link) error
	// WithholdRequest withholds one request of a client over a link, after its arrival at
	// the node and before its execution, until release. All data behind it on its
	// connection waits too. Within the moment [Received] of a request over the link, it
	// withholds that request, otherwise the next one. After release the node executes it,
	// even if its client has closed the connection.
	WithholdRequest(l Link) (release func(), err error)
	// Refuse rejects new connections over a link until allow.
	Refuse(l Link) (allow func(), err error)
	// HalfOpen ends the open connections of a link at one of its parties, gone.
	// The other party learns nothing until tell, which breaks them there too.
	// No more data passes, except that a node still gets the data that the
	// client had sent before. New connections work.
	HalfOpen(l Link, gone string) (tell func(), err error)

	// StopNode kills a server: its connections break and it accepts no new
	// ones. StartNode starts it again, with its data or empty.
	StopNode(node string) error
	StartNode(node string, keepData bool) error
	// Condemn makes a server dead for its clients until StopNode has killed it, in
	// worlds in which that takes time.
	Condemn(node string)
	// Prefer selects the replica that takes over if its primary dies, for
	// worlds in which the servers elect it.
	Prefer(replica string) error
	// Promote makes a replica the primary of its group. Writes that had not
	// reached it are lost. Clients are redirected to it from now on, unless
	// they are isolated from it. The old primary stays as it is.
	Promote(replica string) error
	// Follow makes a node a replica of the current primary of its group: it
	// drops its own data and takes the primary's.
	Follow(node string) error
	// HandOver promotes a replica in a planned way: its primary follows it, and clients
	// are redirected to it from now on. Delayed replication may be lost.
	HandOver(replica string) error
	// Primary names the present primary of a group. Groups count from 1; group
	// n starts with primary "node-n".
	Primary(group int) string

	// MoveSlots begins to migrate the slots of the lock between two primaries of a
	// cluster. Their keys move at once or at the end. After finish the second primary
	// owns the slots.
	MoveSlots(from, to string, keysFirst bool) (finish func() error, err error)

	// SetClock moves the clock of a server, or the wall clock of a client, by jump. From
	// now on it runs at rate times real speed (1 is true time).
	SetClock(party string, jump time.Duration, rate float64) error
	// Deny makes a server refuse commands of clients, in upper case, until allow: they
	// lack the right. FillMemory makes it refuse those that need memory, until free.
	Deny(node string, commands []string) (allow func() error, err error)
	FillMemory(node string) (free func() error, err error)
	// FlushScripts forgets a server's script cache.
	FlushScripts(node string) error
	// DeleteLock deletes the lock's keys on a server, as an eviction or an
	// operator would.
	DeleteLock(node string) error
}

// attacher accepts toxics.
type attacher interface {
	// Attach adds a toxic to every present and future connection of a link, in
	// one direction, and returns a function that removes it.
	Attach(l Link, dir stream.Direction, t toxics.Toxic) (detach func(), err error)
}

// Link is the path between two parties, a client and a server or a primary and
// its replica. From is the side that connects: the client, or the replica.
// Upstream runs from From to To.
type Link struct{ From, To string }

// Topology describes the world of a scenario. A fault reads it to decide whether
// it can strike.
type Topology struct {
	World    string // "sim" or "live"
	Clients  int
	Groups   int // independent primaries
	Replicas int // replicas of each primary
	Cluster  bool
	// Clocks is the longest time by which the clocks of clients may differ, as the lock
	// claims; 0 without a claim.
	Clocks time.Duration
}

// each strikes the parties in order. If one fails, it heals the earlier ones, so
// that a fault strikes all or none. The returned heal undoes them in the same
// order and continues after errors.
func each(names []string, strike func(name string) (heal func() error, err error)) (heal func() error, err error) {
	return eachOf(names, func(name string) string { return name }, strike)
}

func eachOf[T any](all []T, name func(T) string, strike func(T) (heal func() error, err error)) (heal func() error, err error) {
	var heals []func() error
	undo := func() error {
		var errs []error
		for _, h := range heals {
			errs = append(errs, h())
		}
		return errors.Join(errs...)
	}
	for _, one := range all {
		h, err := strike(one)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name(one), err), undo())
		}
		if h != nil {
			heals = append(heals, h)
		}
	}
	return undo, nil
}

// once is each for instant faults.
func once(names []string, strike func(name string) error) error {
	_, err := each(names, func(name string) (func() error, error) { return nil, strike(name) })
	return err
}
