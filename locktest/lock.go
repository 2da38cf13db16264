// Package locktest plays a lock under faults in an ordinary go test, and judges the lock.
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
// The lock runs unchanged in virtual time: its timers, its goroutines and its
// Redis client run in a simulated world. Ten minutes take a few milliseconds, and
// a seed repeats a run. The lock must not start goroutines before it is opened,
// and must talk only to the servers that it gets.
//
// A lock declares its promises in [Claims], and is judged by them. A violation
// that no lock with these claims can avoid does not count, such as two holders
// after a failover that lost the grant.
package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Lock is a lock under test. Claims and New are enough for most locks.
type Lock struct {
	// Name is the lock's name in reports: lower case letters, digits and
	// hyphens; by default "mine". The names of built-in locks, such as "fenced",
	// are not free. Summary describes the lock in a line.
	Name, Summary, Version string
	// Claims are the promises by which the lock is judged.
	Claims Claims

	// New makes one owner's view of one lock. Holdfast calls it once for each owner and
	// name. owner is unique among all processes; the lock may store it as its value.
	New func(c *Client, name, owner string) lock.Locker
	// Open opens a lock with a state of its own in each process; it replaces New.
	Open func(c *Client) (Session, error)

	// Errors of the lock:
	//
	// Busy is the error, for errors.Is, of an acquire if somebody else holds
	// the lock. NotHeld is that of a release by an owner without a hold, and
	// Lost that of a release after the lease has ended.
	Busy, NotHeld, Lost error
	// Classify maps other errors to the errors of package lock, such as lock.ErrUnknown.
	// It returns nil for an error that it does not know. Holdfast recognizes broken
	// connections, timeouts and cancelled contexts itself.
	Classify func(error) error

	// Times of the lock:
	//
	// RenewEvery is the longest gap between two renewals, as a part of the
	// lease; by default 0.34. It needs Claims.Renewal.
	RenewEvery float64
	// Handoff is the time for which a waiter may overlook a free lock: for a lock that
	// polls, the longest poll interval. The judges add half a second for the requests
	// around a poll. The default is a second. It needs Claims.Waits.
	Handoff time.Duration
	// Drift is the drift of servers' clocks during a lease that the lock
	// survives. The validity that a lock states must exclude it. Redlock's is
	// 0.01 of the lease and 2 ms.
	Drift Drift
	// LeaseUnit is the unit to which the lock rounds a lease up, and LeaseMin its
	// shortest lease. LeaseSlack is the longest time by which it exceeds a lease. Margin
	// is the time before the end of its lease at which a holder is notified of its loss.
	LeaseUnit, LeaseMin, LeaseSlack, Margin time.Duration

	// Keys of the lock on servers:
	//
	// Key is the key of a lock on a server, with {name} for the name of the lock,
	// by default {name}.
	Key string
	// Holder declares how that key shows the holder. By default the key is a
	// string that stands for the owner, or a hash of owners and their counts.
	Holder Holder
	// Holders reads the holds of a lock from its keys on one server, for a lock whose
	// holder no Holder describes. The first hold counts whose End has not passed.
	// Holdfast calls it after each change of a key of the lock, and at each End that it
	// named. It must be a pure function. Real servers are not read in this way: there,
	// the verdicts depend on the clients alone.
	Holders func(View) []Hold
	// Keys are the keys that Holders reads besides Key, with {name} for the name of the
	// lock and {owner} for any text. A key without {name} serves all locks.
	Keys []string
	// StoresOwner is true if the lock stores the owner string of New or Locker. Otherwise
	// Holdfast finds the owner of a value by the process that stored it.
	StoresOwner bool
	// Keeps are keys that may remain after all releases, written like Keys.
	Keeps []string

	// Servers and connections of the lock:
	//
	// Primaries is the number of independent primaries, by default one, and
	// Quorum the number of them that a hold needs, by default all.
	Primaries, Quorum int
	// Reaches limits the ways in which the lock finds its primary on real
	// servers: "address", "sentinels", "cluster"; by default all.
	Reaches []string
	// KeepsConnections says that connections last as long as their process, like
	// those of a client that nothing closes.
	KeepsConnections bool

	// Exceptions:
	//
	// Known are the known violations of the lock.
	Known []Known
	// CheckName returns the reason why the lock cannot have a name; nil accepts
	// all names. Run skips a scenario with such a name, with the reason.
	CheckName func(name string) error

	misuse *misuse // of a test; nil where the lock is served
}

// Session is an open lock in one process.
type Session interface {
	// Locker is like Lock.New.
	Locker(name, owner string) lock.Locker
	// Close closes the lock as its users do, which may be in the middle of work.
	Close() error
}

// Claims are the promises of a lock, such as Claims{Waits: true, Lease: true}. Holdfast
// does not judge a promise that the lock does not make. [history.Claims] has the fields.
type Claims = history.Claims

// Drift is an allowance for the clocks of servers: Rate times the lease, plus Const.
type Drift struct {
	Rate  float64
	Const time.Duration
}

// Known is a known violation of a lock: a run that shows it passes. [Run] fails if no run
// of the scenario shows the violation any more, unless it is one that shows Sometimes. It
// requires that only if it plays both kinds of user from the first seed on.
type Known = locks.Known

// View shows the keys of one lock on one server to [Lock.Holders]. It has two fields:
//
//	Name string    // of the lock
//	Now  time.Time // by the clock of the server
//
// Its methods read a key, and return zero values for one that does not exist or has
// another type:
//
//	Text(key string) string                // of a string
//	Hash(key string) map[string]string     // of a hash
//	Items(key string) []string             // of a list, in order; of a set, sorted; of a sorted set, by score
//	Score(key, member string) float64      // of a member of a sorted set
//	End(key string) time.Time              // when the key expires; zero for never
//	Keys() []string                        // that exist, sorted
type View = keyspace.View

// Hold is a hold that a server has, see [Lock.Holders]. Its fields:
//
//	Owner  string    // the stored value that stands for the owner
//	Shared bool      // it is the hold of a reader; Claims.Upgrades and Downgrades require it
//	Count  int       // of the owner's holds or permits; 0 means 1
//	End    time.Time // of the lease, by the clock of the server; zero for none
type Hold = keyspace.Hold

// Holder declares how the key of a lock shows its holder. Use [HolderFirst],
// [HolderLast], [HolderLowest] or [HolderMember] only if the key's time to live is
// the rest of the holder's lease. Otherwise use [HolderNone]: the verdicts then
// depend on the clients alone.
type Holder locks.Holder

// The kinds of Holder besides the default.
const (
	HolderFirst  Holder = "first"  // of a list, its first element
	HolderLast   Holder = "last"   // of a list, its last element
	HolderLowest Holder = "lowest" // of a sorted set, the member with the lowest score
	HolderMember Holder = "member" // of a set, its only member
	HolderNone   Holder = "none"   // the key does not tell
)

// description is the account that the lock gives of itself.
func (l Lock) description() locks.Description {
	d := locks.Description{
		Name: l.Name, Summary: l.Summary, Version: l.Version, Claims: l.Claims, RenewEvery: l.RenewEvery, HandoffNS: int64(l.Handoff),
		Primaries: l.Primaries, Quorum: l.Quorum, Key: l.Key, Holder: locks.Holder(l.Holder), Keeps: l.Keeps, KeepsConnections: l.KeepsConnections, Reaches: l.Reaches, Known: inCatalogue(l.Known),
	}
	if l.Holders != nil {
		d.Holder = locks.HolderNone // of a description that crosses a pipe
	}
	d.LeaseUnitNS, d.LeaseMinNS, d.LeaseSlackNS, d.MarginNS = int64(l.LeaseUnit), int64(l.LeaseMin), int64(l.LeaseSlack), int64(l.Margin)
	if l.Drift != (Drift{}) {
		d.Drift = &locks.Drift{Rate: l.Drift.Rate, ConstNS: int64(l.Drift.Const)}
	}
	d.Name = cmp.Or(d.Name, "mine")
	if d.RenewEvery == 0 && l.Claims.Renewal {
		d.RenewEvery = 0.34
	}
	return d
}

func (l Lock) forScenarios() (*locks.Lock, error) {
	if (l.New == nil) == (l.Open == nil) {
		return nil, fmt.Errorf("the lock %q needs New or Open, and not both", l.description().Name)
	}
	if l.Claims.ShutsDown && l.Open == nil {
		return nil, fmt.Errorf("the lock %q needs Open: %w", l.description().Name, errNoShutdown)
	}
	switch {
	case l.Holders != nil && l.Holder != "":
		return nil, fmt.Errorf("the lock %q has Holder and Holders, and needs one of them", l.description().Name)
	case l.Holders == nil && len(l.Keys) > 0:
		return nil, fmt.Errorf("the lock %q has Keys, which Holders is to read, and no Holders", l.description().Name)
	}
	if err := scenarios.CheckKnown(l.description()); err != nil {
		return nil, err
	}
	s, err := locks.NewThirdParty(l.description(), l.open)
	if err != nil {
		return nil, err
	}
	s.CheckName, s.Holders, s.Keys = l.CheckName, l.Holders, l.Keys
	return s, nil
}

// open opens the lock in a client process.
func (l Lock) open(e locks.Environment) (locks.Session, error) {
	return l.openIn(newClient(e))
}

func (l Lock) openIn(c *Client) (locks.Session, error) {
	if l.New != nil {
		return session{fresh{l.New, c}, &l, c, &sync.Map{}}, nil
	}
	s, err := l.Open(c)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errors.New("no session and no error from Lock.Open")
	}
	if _, leaves := s.(locks.Leaver); l.Claims.ShutsDown && !leaves {
		return nil, errNoShutdown
	}
	return session{s, &l, c, &sync.Map{}}, nil
}

// fresh is a lock without a state of its own. It implements [Session].
type fresh struct {
	make func(c *Client, name, owner string) lock.Locker
	c    *Client
}

func (f fresh) Locker(name, owner string) lock.Locker { return f.make(f.c, name, owner) }
func (fresh) Close() error                            { return nil }

// errNoShutdown is the error of a lock that claims to shut down and cannot.
var errNoShutdown = errors.New("Claims.ShutsDown needs a Session with a method Shutdown(context.Context) error")

// session is an open lock as scenarios see it.
// It implements [locks.Session], [locks.Sharer] and [locks.Leaver].
type session struct {
	of   Session
	lock *Lock
	c    *Client
	made *sync.Map // by name and thread: the views of one who reads and writes have one lock
}

func (s session) Locker(name, thread string) lock.Locker {
	return s.ShareLocker(name, thread, history.Share{})
}

func (s session) ShareLocker(name, thread string, share history.Share) lock.Locker {
	key := [2]string{name, thread}
	known, made := s.made.Load(key)
	if !made {
		known = s.make(name, thread)
		s.made.Store(key, known)
	}
	l, _ := known.(lock.Locker)
	if f, ok := l.(*Funcs); ok {
		f = f.of(share)
		f.once = !s.lock.Claims.Waits
		l = f
	}
	return &classified{l, s.lock, s.c, share.Permits}
}

// Observer implements [locks.Observer].
func (s session) Observer(name, thread string) func(context.Context) (string, error) {
	f, ok := s.make(name, thread).(*Funcs)
	if !ok || f.Holder == nil {
		return func(context.Context) (string, error) { return "", errors.ErrUnsupported }
	}
	c := &classified{f, s.lock, s.c, 0}
	return func(ctx context.Context) (string, error) {
		owner, err := f.Holder(ctx)
		return owner, c.class(ctx, err)
	}
}

// OwnerName is the name of a thread for the lock. No other owner has it. See
// [locks.Observer].
func (s session) OwnerName(thread string) string { return s.c.ID + ":" + thread }

func (s session) Identity(thread string) string {
	if !s.lock.StoresOwner {
		return ""
	}
	return s.OwnerName(thread)
}

func (s session) Shutdown(ctx context.Context) error {
	l, ok := s.of.(locks.Leaver)
	if !ok {
		return errors.ErrUnsupported
	}
	return (&classified{lock: s.lock}).class(ctx, l.Shutdown(ctx))
}

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
