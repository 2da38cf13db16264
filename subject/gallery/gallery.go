// Package gallery has locks that are wrong on purpose: each is one of the
// locks of packages lock and textbook with one mistake, most of them mistakes
// that some library has shipped. They show that the scenarios and the judges
// see such a mistake; nothing else may use them.
//
// No lock has a switch for being wrong. A mistake is made from outside: in
// what a lock says to Redis (see [wire]), in what it tells its caller (see
// [face]), or in a small lock or combiner of this package's own.
package gallery

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Mutant is a lock with one mistake.
type Mutant struct {
	Name    string
	Of      string // the lock that it is a variant of: a built-in one, or [FairQueue]
	Class   int    // of the root cause, see [Causes]
	Mistake string // what is wrong, in a sentence
	Shipped string // who shipped it

	edits []edit // of the scripts that the lock sends, if it is made that way
	open  func(p Process) (Locks, error)
}

// Open opens the lock in one client process.
func (m Mutant) Open(p Process) (Locks, error) { return m.open(p) }

// Process is one client process, in which a lock is opened.
type Process struct {
	ID      string // no other process has it; owners are "<ID>:<thread>"
	Lease   time.Duration
	Poll    time.Duration           // how long a waiter goes without looking; 0 for the default
	Clients []redis.UniversalClient // one per server
	// Stream returns the seeded source of randomness with a name.
	Stream func(name ...string) *rand.Rand
	// Base opens the lock that a mutant is a variant of on other clients.
	// Options are for the reference lock.
	Base func(clients []redis.UniversalClient, opts ...lock.Option) (Locks, error)
}

// Locks makes the lockers of one process.
type Locks interface {
	// Locker is one owner's view of one lock; a thread is an owner.
	Locker(name, thread string) lock.Locker
	Close() error
}

// Causes are the root causes of the mistakes; the class of a mutant is an
// index, from 1.
var Causes = []string{
	1:  "an acquire that is sent twice counts twice",
	2:  "the reply to a release is lost",
	3:  "the caller gives up between request and reply",
	4:  "the renewal stops after one error",
	5:  "the renewal outlives the hold",
	6:  "renewals and holds are counted apart",
	7:  "lease, token or count is shared where it is not common",
	8:  "subscribing and looking in the wrong order",
	9:  "sentinel values and units",
	10: "locks of several: what was begun is not cleaned up",
	11: "validity measured from the wrong instant",
	12: "the owner is not checked",
}

// All returns the mutants, by class and then by name.
func All() []Mutant {
	all := slices.Concat(
		retried(), interrupted(), renewals(), survivors(), counting(), shared(),
		waiting(), unfair(), sentinels(), several(), validities(), owners(),
	)
	slices.SortStableFunc(all, func(a, b Mutant) int {
		if a.Class != b.Class {
			return a.Class - b.Class
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// Find returns the mutant with a name.
func Find(name string) (Mutant, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(m Mutant) bool { return m.Name == name }); i >= 0 {
		return all[i], true
	}
	return Mutant{}, false
}
