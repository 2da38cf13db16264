// Package keyspace represents the keys of a server and every change of them. Both
// worlds report the ground truth in this form.
package keyspace

import "time"

// Change is one change of one key on one server. One command made it (a script or a
// transaction is one command), or no command at all. Without a key, it says that the
// time has passed an end that sim.Options.NextEnd named.
type Change struct {
	Node, Role, Key string // Role is "primary" or "replica", at the time of the change
	Cause           string // "command", "expiry", "replication", "fault", "restart" or "migration"
	Command, By     string // when the cause is a command: which, in upper case, from which process
	Before, After   Value
	More            bool      // a later change of a key of the lock is of the same command
	Owner           string    // whose acquire sent the command, "" if unknown
	Sent            time.Time // when its client sent the command, zero if unknown
	At              time.Time // the true time of the change, by the clock of the world
	Now             time.Time // what the server's clock showed then; ExpireAt minus Now is a TTL
}

// Expired says whether the change is that a key went whose time was over.
func (c Change) Expired() bool {
	return !c.After.Exists() && !c.Before.ExpireAt.IsZero() && !c.Before.ExpireAt.After(c.Now)
}
