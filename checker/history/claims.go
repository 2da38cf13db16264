package history

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Claims are the promises of a lock: the only list of them. Holdfast does not judge
// a promise that the lock does not make. The tags say what each means.
type Claims struct {
	Reentrant bool `json:"reentrant,omitempty" says:"an owner can acquire a lock that it holds once more"`
	Lease     bool `json:"lease,omitempty" says:"a hold ends by itself when its lease runs out"`
	Renewal   bool `json:"renewal,omitempty" says:"a hold without a lease of its own is renewed while its process lives"`
	Fencing   bool `json:"fencing,omitempty" says:"every hold has a token greater than all before"`
	Fairness  bool `json:"fairness,omitempty" says:"waiters get the lock in the order in which they came"`
	LostSign  bool `json:"lost_sign,omitempty" says:"a holder is notified when its hold is lost"`
	TakesBack bool `json:"takes_back,omitempty" says:"an acquire that ends without a grant leaves nothing behind"`
	Extends   bool `json:"extends,omitempty" says:"an owner can prolong its hold"`
	Observes  bool `json:"observes,omitempty" says:"anybody can ask who holds the lock"`
	ReadWrite bool `json:"read_write,omitempty" says:"readers share the lock, and a writer has it alone"`

	PrefersWriters bool `json:"prefers_writers,omitempty" says:"a reader who comes while a writer waits, waits behind it"`
	Upgrades       bool `json:"upgrades,omitempty" says:"a reader can become a writer, once no other reader has the lock"`
	Downgrades     bool `json:"downgrades,omitempty" says:"a writer can become a reader, and nobody writes in between"`
	Weighted       bool `json:"weighted,omitempty" says:"an acquire of a semaphore can take several permits, all of them or none"`

	// Permits is 0 for a mutex, which has one.
	Permits int `json:"permits,omitempty" says:"so many owners can have a permit of a semaphore at once"`

	// SynchronizedClocks is 0 for a lock that does not depend on the clocks of clients.
	SynchronizedClocks time.Duration `json:"synchronized_clocks,omitempty" says:"the lock keeps its promises while clocks of clients and servers differ by so much"`

	// The rest decides what a scenario can ask of the lock; see [Claims.Judged].

	Waits     bool `json:"waits,omitempty" says:"an acquire waits until its context ends; without it every acquire is a single attempt"`
	Cancels   bool `json:"cancels,omitempty" says:"an operation ends when its caller's context does"`
	Closes    bool `json:"closes,omitempty" says:"the lock can be closed while it is in use"`
	Explicit  bool `json:"explicit,omitempty" says:"an acquire can have a lease of its own, which is not renewed"`
	ShutsDown bool `json:"shuts_down,omitempty" says:"one call, Shutdown(context.Context) error, releases all holds of a process and closes the lock"`
	Messages  bool `json:"messages,omitempty" says:"waiters are woken by a message on a channel of Redis"`
	Hardened  bool `json:"hardened,omitempty" says:"a command that the server refuses leaves nothing behind, and a dead connection delays one try alone"`
}

// Judged returns the claims without those that no judge reads. A header has only
// the others.
func (c Claims) Judged() Claims {
	c.Waits, c.Cancels, c.Closes, c.Explicit, c.ShutsDown, c.Messages = false, false, false, false, false, false
	return c
}

// Names are the names of all claims, as in JSON, in the order of their declaration.
func (Claims) Names() (names []string) {
	for f := range reflect.TypeFor[Claims]().Fields() {
		names = append(names, nameOf(f))
	}
	return names
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Has reports whether a claim with a name of [Claims.Names] is among them.
func (c Claims) Has(name string) bool {
	for f, v := range reflect.ValueOf(c).Fields() {
		if nameOf(f) == name {
			return !v.IsZero()
		}
	}
	return false
}

// Describe says what the claim with such a name promises, "" for no claim.
func (Claims) Describe(name string) string {
	for f := range reflect.TypeFor[Claims]().Fields() {
		if nameOf(f) == name {
			return f.Tag.Get("says")
		}
	}
	return ""
}

// everything is the capacity of a lock for readers and writers: each reader weighs 1, and
// a writer weighs as much as the lock has.
const everything = 1 << 20

// mostPermits bounds the permits of a semaphore.
const mostPermits = 1000

// Conflict names claims that no lock can make together; "" for none.
func (c Claims) Conflict() string {
	switch {
	case c.SynchronizedClocks < 0:
		return `"synchronized_clocks" must not be negative`
	case c.Permits < 0 || c.Permits > mostPermits:
		return fmt.Sprintf(`"permits" must be from 0 to %d`, mostPermits)
	case c.Permits > 1 && c.ReadWrite:
		return `a lock has either "permits" or "read_write"`
	case c.Capacity() > 1 && (c.Reentrant || c.Fencing):
		return `"reentrant" and "fencing" are claims of a lock with one holder`
	case c.ReadWrite && c.Fairness:
		return `"fairness" among readers and writers has no one order; claim "prefers_writers" if readers wait behind writers, or neither`
	case !c.ReadWrite && (c.PrefersWriters || c.Upgrades || c.Downgrades):
		return `"prefers_writers", "upgrades" and "downgrades" are claims of a lock with "read_write"`
	case c.Weighted && c.Permits < 2:
		return `"weighted" is a claim of a lock with "permits" of 2 or more`
	case c.Observes && c.Capacity() > 1:
		return `"observes" is a claim of a lock with one holder`
	}
	return ""
}

// Capacity is the sum of the weights of the holds that the lock can have at once: 1 for a
// mutex.
func (c Claims) Capacity() int {
	if c.ReadWrite {
		return everything
	}
	return max(c.Permits, 1)
}

// Weight is the part of the capacity that a hold takes.
func (c Claims) Weight(s Share) int {
	if c.ReadWrite && s.Mode != Shared {
		return everything
	}
	return max(s.Permits, 1)
}

// NameOwner names an owner together with its share. A reader and a writer have that word
// before the name, and an owner of several permits has their number behind it.
func (c Claims) NameOwner(s Share, owner string) string {
	switch {
	case s.Permits > 1:
		return fmt.Sprintf("%s (%d permits)", owner, s.Permits)
	case !c.ReadWrite:
		return owner
	case s.Mode == Shared:
		return "reader " + owner
	}
	return "writer " + owner
}

// Common returns the claims that both locks make. Two semaphores have the permits of the
// one that has fewer. If either depends on synchronized clocks, so do both.
func (c Claims) Common(other Claims) Claims {
	clocks := c.SynchronizedClocks
	if o := other.SynchronizedClocks; o > 0 && (clocks == 0 || o < clocks) {
		clocks = o
	}
	both, fewer := reflect.ValueOf(&c).Elem(), min(c.Permits, other.Permits)
	for i := range both.NumField() {
		if reflect.ValueOf(other).Field(i).IsZero() {
			both.Field(i).SetZero()
		}
	}
	c.Permits, c.SynchronizedClocks = fewer, clocks
	return c
}

// Terms are the claims of a lock and the numbers that belong to them in one run. All
// durations are in nanoseconds.
type Terms struct {
	Claims

	// RenewEvery is the longest gap between two renewals of a live hold on the
	// server, without a fault. 0 unless Renewal.
	RenewEvery int64 `json:"renew_every,omitempty"`
	// Handoff is the longest time for which a waiter may overlook a free lock.
	Handoff int64 `json:"handoff,omitempty"`
	// Quorum is the number of the Nodes servers that a hold needs. At least 1.
	Quorum int `json:"quorum,omitempty"`
	Nodes  int `json:"nodes,omitempty"`
	// Acks is the number of replicas of a server that have confirmed a hold
	// when it is granted; 0 for none.
	Acks int `json:"acks,omitempty"`

	// Drift is the drift of servers' clocks during a lease that the lock
	// survives; nil for none. Redlock's is 1 % and 2 ms.
	Drift *Drift `json:"drift,omitempty"`
	// LeaseUnit is the unit to which the lock rounds a lease up. LeaseMin is its shortest
	// lease, and LeaseSlack the longest time by which it exceeds a lease.
	LeaseUnit  int64 `json:"lease_unit,omitempty"`
	LeaseMin   int64 `json:"lease_min,omitempty"`
	LeaseSlack int64 `json:"lease_slack,omitempty"`
	// Session is the longest time in which servers end a hold after its process
	// dies or its connection ends; 0 for a lock without a session.
	Session int64 `json:"session,omitempty"`
	// Margin is the time before the end of its lease at which a holder is
	// notified of its loss.
	Margin int64 `json:"margin,omitempty"`
	// KeepsConnections: connections last as long as their process.
	KeepsConnections bool `json:"keeps_connections,omitempty"`
}

// Drift is an allowance for clocks: Rate times the lease, plus Const.
type Drift struct {
	Rate  float64 `json:"rate,omitempty"`
	Const int64   `json:"const,omitempty"` // in nanoseconds
}
