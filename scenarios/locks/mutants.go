package locks

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/lock"
)

// Mutants returns the mutants of the gallery: built-in locks with one mistake
// each. They play by name like built-in locks, with the claims, world and
// expectations of their originals.
func Mutants() []gallery.Mutant { return gallery.All() }

// fairQueue is a correct lock, the original of mutants about fairness. It is set-px-lua
// with a queue, so scenarios expect of it what they expect of set-px-lua, and fairness.
func fairQueue() (*Lock, error) {
	base, err := Find(fairBase)
	if err != nil {
		return nil, err
	}
	s := *base
	s.Like, s.name, s.summary = fairBase, gallery.FairQueue, "set-px-lua with a queue, granted in order of arrival"
	s.Claims.Fairness = true
	s.numbers = func(in Setting) history.Terms {
		t := base.numbers(in)
		t.Handoff += int64(gallery.FairPatience(in.Poll)) // a waiter that died is waited for
		return t
	}
	s.Open = func(e Environment) (Session, error) {
		locks, err := gallery.OpenFairQueue(e.asProcess(nil))
		return mutantSession{locks, e}, err
	}
	return &s, nil
}

const fairBase = "set-px-lua"

// mutantOf returns a mutant as a lock under test.
func mutantOf(m gallery.Mutant) (*Lock, error) {
	base, err := Find(m.Of)
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
		return mutantSession{locks, e}, nil
	}
	return &s, nil
}

// Originals returns the locks to compare with a mutant: its original, and the
// original behind the hooks that many mutants use, which here change nothing.
func Originals(m gallery.Mutant) ([]*Lock, error) {
	base, err := Find(m.Of)
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	hooked := *base
	hooked.Open = func(e Environment) (Session, error) {
		gallery.Overhear(e.Clients)
		return base.Open(e)
	}
	return []*Lock{base, &hooked}, nil
}

// asProcess is the Environment for locks of the gallery; open opens their base.
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
	env Environment
}

// ShareLocker implements [Sharer]. The originals that claim shares are such sessions.
func (s mutantSession) ShareLocker(name, thread string, share history.Share) lock.Locker {
	return s.Locks.(Sharer).ShareLocker(name, thread, share)
}

// Observer implements [Observer]. The originals that claim it have the reference lock's hash.
func (s mutantSession) Observer(name, thread string) func(context.Context) (string, error) {
	if o, ok := s.Locks.(Observer); ok {
		return o.Observer(name, thread)
	}
	return observeHash(s.env.Clients[0], name)
}

func (s mutantSession) Identity(thread string) string { return identityOf(s.env.Process, thread) }
