// Package gallery contains mutants: locks of packages lock and textbook with one
// mistake each, most of which some library has shipped. They test that the
// scenarios and the judges detect such a mistake. Use them for nothing else.
//
// No lock has a switch for its mistake. The package adds a mistake from outside: to the
// requests of a lock (see [wire]), or to its answers (see [face]). Other mistakes are in
// a small lock or combiner of its own.
package gallery

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Mutant is a lock with one mistake, see mutants.yaml.
type Mutant struct {
	Name    string
	Of      string // the lock that it is a variant of: a built-in one, or [FairQueue]
	Class   int    `yaml:"-"` // of the root cause, see [Causes]
	Mistake string // what is wrong, in a sentence
	Shipped string // who shipped it

	// Scenario of the catalogue shows the mistake, and there the mutant violates Property,
	// which the original keeps.
	Scenario, Property string

	edits []edit // of the scripts that the lock sends
}

type opening = func(p Process) (Locks, error)

// openings are those of some mutants, by name.
type openings map[string]opening

// behaviours are the mutants that do more than to send edited scripts.
var behaviours = []openings{retried, renewals, survivors, counting, shared, waiting, sentinels, several, validities, owners, edges, observed}

// Open opens the lock in one client process.
func (m Mutant) Open(p Process) (Locks, error) {
	p.edits = m.edits
	for _, o := range behaviours {
		if open := o[m.Name]; open != nil {
			return open(p)
		}
	}
	if m.Of == FairQueue {
		return queued(p)
	}
	return edited(p)
}

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

	edits []edit // of the mutant
}

// Locks makes the lockers of one process.
type Locks interface {
	// Locker is one owner's view of one lock; a thread is an owner.
	Locker(name, thread string) lock.Locker
	Close() error
}

//go:embed mutants.yaml
var source []byte

// Causes are the root causes of the mistakes; the class of a mutant is an
// index, from 1.
var Causes, all = read()

// read reads the mutants, which are sorted by class and then by name.
func read() (causes []string, all []Mutant) {
	var classes []struct {
		Cause   string
		Mutants []struct {
			Mutant `yaml:",inline"`
			Edits  []edit
		}
	}
	if err := yaml.UnmarshalWithOptions(source, &classes, yaml.Strict()); err != nil {
		panic(fmt.Sprintf("gallery: read mutants.yaml: %v", err)) // a mistake in this program
	}
	causes = []string{""}
	for _, c := range classes {
		for _, m := range c.Mutants {
			m.Class, m.edits = len(causes), m.Edits
			all = append(all, m.Mutant)
		}
		causes = append(causes, c.Cause)
	}
	return causes, all
}

// All returns the mutants, by class and then by name.
func All() []Mutant { return slices.Clone(all) }

func Find(name string) (Mutant, bool) {
	if i := slices.IndexFunc(all, func(m Mutant) bool { return m.Name == name }); i >= 0 {
		return all[i], true
	}
	return Mutant{}, false
}
