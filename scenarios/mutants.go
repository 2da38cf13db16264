package scenarios

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/lock/gallery"
	"github.com/holdfast-go/holdfast/sim"
)

// Mutants returns the locks of the gallery: built-in locks with one mistake
// each. They can be played like built-in ones, by their names, with the claims,
// the world and the expectations of the lock that they are a variant of.
func Mutants() []gallery.Mutant { return gallery.All() }

// fairQueue is the lock of the gallery that is right, and that mutants about
// fairness are variants of. It is set-px-lua with a queue, so that is what
// scenarios expect of it, and fairness besides.
func fairQueue() (subject, error) {
	base, err := subjectOf(fairBase)
	if err != nil {
		return subject{}, err
	}
	s := base
	s.name, s.summary = gallery.FairQueue, "set-px-lua with a queue, granted in order of arrival"
	s.claims = func(sc *Scenario) checker.Claims {
		c := base.claims(sc)
		c.Fairness = true
		c.Handoff += int64(gallery.FairPatience(time.Duration(sc.Workload.Poll))) // a waiter that died is waited for
		return c
	}
	s.open = func(e environment) (session, error) {
		locks, err := gallery.OpenFairQueue(e.asProcess(nil))
		return mutantSession{locks, e.process}, err
	}
	return s, nil
}

// fairBase is what the fair lock is a variant of.
const fairBase = "set-px-lua"

// mutantOf is a mutant as a lock under test.
func mutantOf(m gallery.Mutant) (subject, error) {
	base, err := subjectOf(m.Of)
	if err != nil {
		return subject{}, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	s := base
	s.name, s.summary = m.Name, m.Mistake
	s.open = func(e environment) (session, error) {
		locks, err := m.Open(e.asProcess(base.open))
		if err != nil {
			return nil, err
		}
		return mutantSession{locks, e.process}, nil
	}
	return s, nil
}

// builtIn is the built-in lock whose expectations hold for a lock: the lock
// itself, or the one that it is a variant of.
func builtIn(lock string) string {
	if lock == gallery.FairQueue {
		return fairBase
	}
	if m, ok := gallery.Find(lock); ok {
		return builtIn(m.Of)
	}
	return lock
}

// asProcess is the environment as locks of the gallery see it; open is how
// their base is opened.
func (e environment) asProcess(open func(environment) (session, error)) gallery.Process {
	return gallery.Process{
		ID: e.process, Lease: e.lease, Poll: e.poll, Clients: e.clients,
		Stream: func(name ...string) *rand.Rand {
			return sim.Stream(e.seed, append([]string{"gallery", e.process}, name...)...)
		},
		Base: func(clients []redis.UniversalClient, opts ...lock.Option) (gallery.Locks, error) {
			e := e
			e.clients, e.options = clients, opts
			s, err := open(e)
			return baseLocks{s}, err
		},
	}
}

// baseLocks is a session as locks of the gallery see it.
type baseLocks struct{ session }

// Locker implements [gallery.Locks].
func (b baseLocks) Locker(name, thread string) lock.Locker { return b.locker(name, thread) }

// mutantSession is a lock of the gallery in one client process.
type mutantSession struct {
	gallery.Locks
	process string
}

func (s mutantSession) locker(name, thread string) lock.Locker { return s.Locker(name, thread) }
func (s mutantSession) identity(thread string) string          { return identityOf(s.process, thread) }
