package subject

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/subject/gallery"
)

// Mutants returns the locks of the gallery: built-in locks with one mistake
// each. They can be played like built-in ones, by their names, with the claims,
// the world and the expectations of the lock that they are a variant of.
func Mutants() []gallery.Mutant { return gallery.All() }

// fairQueue is the lock of the gallery that is right, and that mutants about
// fairness are variants of. It is set-px-lua with a queue, so that is what
// scenarios expect of it, and fairness besides.
func fairQueue() (*Subject, error) {
	base, err := FindSubject(fairBase)
	if err != nil {
		return nil, err
	}
	s := *base
	s.Like, s.name, s.summary = fairBase, gallery.FairQueue, "set-px-lua with a queue, granted in order of arrival"
	s.Claims = func(sc Setting) history.Claims {
		c := base.Claims(sc)
		c.Fairness = true
		c.Handoff += int64(gallery.FairPatience(sc.Poll)) // a waiter that died is waited for
		return c
	}
	s.Open = func(e Environment) (Session, error) {
		locks, err := gallery.OpenFairQueue(e.asProcess(nil))
		return mutantSession{locks, e.Process}, err
	}
	return &s, nil
}

// fairBase is what the fair lock is a variant of.
const fairBase = "set-px-lua"

// mutantOf is a mutant as a lock under test.
func mutantOf(m gallery.Mutant) (*Subject, error) {
	base, err := FindSubject(m.Of)
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	s := *base
	s.Like, s.name, s.summary = cmp.Or(base.Like, base.name), m.Name, m.Mistake
	s.Open = func(e Environment) (Session, error) {
		locks, err := m.Open(e.asProcess(base.Open))
		if err != nil {
			return nil, err
		}
		return mutantSession{locks, e.Process}, nil
	}
	return &s, nil
}

// Originals returns the lock that a mutant is made from, as what the mutant is
// to be compared with: by itself, and with all that it sends passing the hooks
// that many mutants have, which here change nothing.
func Originals(m gallery.Mutant) ([]*Subject, error) {
	base, err := FindSubject(m.Of)
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	hooked := *base
	hooked.Open = func(e Environment) (Session, error) {
		gallery.Overhear(e.Clients)
		return base.Open(e)
	}
	return []*Subject{base, &hooked}, nil
}

// asProcess is the Environment as locks of the gallery see it; open is how
// their base is opened.
func (e Environment) asProcess(open func(Environment) (Session, error)) gallery.Process {
	return gallery.Process{
		ID: e.Process, Lease: e.Lease, Poll: e.Poll, Clients: e.Clients,
		Stream: func(name ...string) *rand.Rand {
			return random.Stream(e.Seed, append([]string{"gallery", e.Process}, name...)...)
		},
		Base: func(clients []redis.UniversalClient, opts ...lock.Option) (gallery.Locks, error) {
			e := e
			e.Clients, e.options = clients, opts
			s, err := open(e)
			return s, err
		},
	}
}

// mutantSession is a lock of the gallery in one client process.
type mutantSession struct {
	gallery.Locks
	process string
}

func (s mutantSession) Identity(thread string) string { return identityOf(s.process, thread) }
