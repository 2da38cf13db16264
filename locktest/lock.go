// Package locktest plays failures against a lock in an ordinary go test, and
// judges what the lock did.
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, locktest.Lock{
//			Claims: locktest.Claims{Waits: true, Lease: true},
//			Busy:   mylock.ErrTaken,
//			New: func(c *locktest.Client, name, owner string) lock.Locker {
//				m := mylock.New(c.Redis, name, c.Lease)
//				return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
//			},
//		})
//	}
//
// The lock is played as it is, in virtual time: its timers, its goroutines and
// its Redis client run in a simulated world, where ten minutes take a few
// milliseconds and a seed gives the same run every time. It must not start
// goroutines before it is opened, nor talk to anything but the servers it is
// given.
//
// A lock says what it promises, see [Claims], and is judged by that. What a lock
// of its kind cannot avoid, such as two holders after a failover that lost the
// grant, is not held against it.
package locktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// Lock is a lock under test. New or Open is required.
type Lock struct {
	// Name is the lock's in reports: lower case letters, digits and hyphens; by
	// default "mine". Summary says in a line what it is, Version which.
	Name, Summary, Version string
	Claims                 Claims

	// RenewEvery is the longest gap between two renewals, as a part of the
	// lease, by default 0.34 of it. It goes with Claims.Renewal.
	RenewEvery float64
	// Handoff is how long a waiter may overlook a free lock, such as the longest
	// time between two looks of one that polls. It is given half a second more
	// for the requests around a look. By default it is a second. It is not asked for
	// where the lock does not claim to wait.
	Handoff time.Duration
	// Drift is how far the clocks of servers may run ahead during a lease before the
	// lock may break. A lock that names the validity of its grants leaves that out
	// of it. Redlock's is 0.01 of the lease and 2 ms.
	Drift Drift
	// LeaseUnit is what the lock rounds a lease up to, LeaseMin its shortest lease,
	// and LeaseSlack how much longer than asked it keeps one. Margin is how long
	// before the end of its lease a holder is told of its loss.
	LeaseUnit, LeaseMin, LeaseSlack, Margin time.Duration
	// Primaries is how many independent primaries the lock lives on, by default
	// one, and Quorum on how many of them a hold must be, by default all.
	Primaries, Quorum int
	// Key is the key of a lock on a server, with {name} for the name of the lock,
	// by default {name}.
	Key string
	// Holder is how that key tells who holds the lock. By default it is a string
	// that stands for the owner, or a hash of owners and their counts.
	Holder Holder
	// StoresOwner says that what the lock stores for an owner is the string that
	// New or Locker is given. Otherwise whose a value is, is found out from which
	// process stored it.
	StoresOwner bool
	// Keeps are keys that may stay when everybody has let go, with {name}.
	Keeps []string
	// KeepsConnections says that connections last as long as their process, as
	// those of a client that nothing closes.
	KeepsConnections bool
	// Reaches limits what the lock finds its primary through on real servers:
	// "address", "sentinels", "cluster"; by default all.
	Reaches []string
	// CheckName says why the lock cannot have a name; nil when it takes any. A
	// scenario with such a name is left out, with the reason.
	CheckName func(name string) error
	// Known are the violations that the lock is known for.
	Known []Known

	// Busy is the error, for errors.Is, of an acquire of a lock that somebody
	// else holds; NotHeld that of a release by who does not hold the lock, and
	// Lost that of one by who did and whose lease has ended.
	Busy, NotHeld, Lost error
	// Classify tells other errors apart: it returns one of the errors of package
	// lock, such as lock.ErrUnknown, or nil for an error that it does not know.
	// Broken connections, timeouts and cancelled contexts are known as such.
	Classify func(error) error

	// New makes one owner's view of one lock. It is called once for each owner
	// and name; owner is a string that no other owner in any process has, which
	// the lock may store as its value.
	New func(c *Client, name, owner string) lock.Locker
	// Open opens a lock that has a state of its own in each process, in the
	// place of New.
	Open func(c *Client) (Session, error)

	misuse *misuse // of a test; nil where the lock is served
}

// Session is a lock that has been opened in one process.
type Session interface {
	// Locker is what New makes.
	Locker(name, owner string) lock.Locker
	// Close closes the lock as its users do, which may be in the middle of work.
	Close() error
}

// description is what the lock says of itself.
func (l Lock) description() subject.Description {
	d := subject.Description{
		Name: l.Name, Summary: l.Summary, Version: l.Version, Claims: subject.Claims(l.Claims), RenewEvery: l.RenewEvery, HandoffNS: int64(l.Handoff),
		Primaries: l.Primaries, Quorum: l.Quorum, Key: l.Key, Holder: subject.Holder(l.Holder), Keeps: l.Keeps, KeepsConnections: l.KeepsConnections, Reaches: l.Reaches,
	}
	d.LeaseUnitNS, d.LeaseMinNS, d.LeaseSlackNS, d.MarginNS = int64(l.LeaseUnit), int64(l.LeaseMin), int64(l.LeaseSlack), int64(l.Margin)
	if l.Drift != (Drift{}) {
		d.Drift = &subject.Drift{Rate: l.Drift.Rate, ConstNS: int64(l.Drift.Const)}
	}
	for _, k := range l.Known {
		d.Known = append(d.Known, subject.Known{Scenario: k.Scenario, Property: k.Property, Because: k.Because})
	}
	if d.Name == "" {
		d.Name = "mine"
	}
	if d.RenewEvery == 0 && l.Claims.Renewal {
		d.RenewEvery = 0.34
	}
	return d
}

// subject is the lock as scenarios play it.
func (l Lock) subject() (*subject.Subject, error) {
	if (l.New == nil) == (l.Open == nil) {
		return nil, fmt.Errorf("the lock %q needs New or Open, and not both", l.description().Name)
	}
	if err := scenarios.CheckKnown(l.description()); err != nil {
		return nil, err
	}
	s, err := subject.NewThirdParty(l.description(), l.open)
	if err != nil {
		return nil, err
	}
	s.CheckName = l.CheckName
	return s, nil
}

// open opens the lock in a client process.
func (l Lock) open(e subject.Environment) (subject.Session, error) {
	return l.openIn(newClient(e))
}

func (l Lock) openIn(c *Client) (subject.Session, error) {
	if l.New != nil {
		return session{fresh{l.New, c}, &l, c}, nil
	}
	s, err := l.Open(c)
	if err != nil {
		return nil, err
	}
	return session{s, &l, c}, nil
}

// fresh is a lock without a state of its own.
type fresh struct {
	make func(c *Client, name, owner string) lock.Locker
	c    *Client
}

// Locker implements [Session].
func (f fresh) Locker(name, owner string) lock.Locker { return f.make(f.c, name, owner) }

// Close implements [Session].
func (fresh) Close() error { return nil }

// session is an open lock as scenarios see it.
type session struct {
	of   Session
	lock *Lock
	c    *Client
}

// Locker implements [scenarios.Session].
func (s session) Locker(name, thread string) lock.Locker {
	l := s.make(name, thread)
	if f, ok := l.(*Funcs); ok {
		f.once = !s.lock.Claims.Waits
	}
	return &classified{l, s.lock, s.c.Lease}
}

// owner is a string that no other owner has.
func (s session) owner(thread string) string { return s.c.ID + ":" + thread }

// Identity implements [scenarios.Session].
func (s session) Identity(thread string) string {
	if !s.lock.StoresOwner {
		return ""
	}
	return s.owner(thread)
}

// Close implements [scenarios.Session].
func (s session) Close() error { return s.of.Close() }

// names are those of locks, for errors.
func names(locks []Lock) []string {
	all := make([]string, len(locks))
	for i, l := range locks {
		all[i] = l.description().Name
	}
	slices.Sort(all)
	return all
}
