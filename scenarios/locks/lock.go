// Package locks describes locks under test: the built-in ones, the mutants of the
// gallery, and third-party locks. A [Lock] has the claims of a lock and opens
// its sessions in client processes.
package locks

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/lock"
)

// Lock is a lock under test. [Find] returns a built-in one, and [NewThirdParty]
// a third-party one.
type Lock struct {
	name    string
	summary string
	Groups  int  // independent primaries it needs
	quorum  int  // how many of them a hold needs; 0 for all
	Acks    bool // needs a replica to wait for
	Claims  history.Claims
	numbers func(s Setting) history.Terms // besides its claims, quorum and acks
	Habits  Habits
	holder  Holder // that a built-in lock declares
	// Sends lists the commands besides those of Redis 7.0 that the lock needs, by the
	// names of [profile.Profile.Has].
	Sends  []string
	server *profile.Profile                     // see On
	Open   func(e Environment) (Session, error) // nil for one behind an adapter
	// CheckName returns the reason why the lock cannot have a name; nil accepts all.
	CheckName func(name string) error
	// Holders reads the holds of a lock from its keys on one server, the holder first;
	// nil if the declared Holder does. It is a pure function. Keys are the patterns of the
	// keys that it reads, with {name} for the name of the lock and {owner} for any text.
	Holders func(keyspace.View) []keyspace.Hold
	Keys    []string
	// Keeps reports whether a key may remain after all releases.
	Keeps func(name, key string) bool
	// Like is the built-in lock with the same expectations, empty for the lock itself.
	Like string
	// ThirdParty is the description of a lock that is not built in.
	ThirdParty *Description
}

// Name is the name of the lock in reports.
func (s *Lock) Name() string { return s.name }

// On returns the lock on a server of another name; "" keeps its own.
func (s *Lock) On(server string) (*Lock, error) {
	if server == "" {
		return s, nil
	}
	p, err := profile.Find(server)
	if err != nil {
		return nil, err
	}
	on := *s
	on.server = p
	return &on, nil
}

// Server is the server as it is offered on which the lock is played. By default it is the
// first one that has what the lock sends.
func (s *Lock) Server() *profile.Profile {
	if s.server != nil {
		return s.server
	}
	return profile.With(s.Sends)
}

// Environment is the surroundings of a lock under test in one client process.
type Environment struct {
	Process  string                  // the unique name of the client
	Seed     uint64                  // the seed of random numbers
	Lease    time.Duration           // lease, and watchdog timeout
	Poll     time.Duration           // how long a waiter goes without looking; 0 for the lock's default
	Replicas int                     // of each primary
	Acks     int                     // how many of them must confirm a grant; 0 is 1
	Scale    float64                 // what the times of the run are scaled by
	Clients  []redis.UniversalClient // one per group
	// Addrs are the addresses of the groups' primaries, for Dial. In a cluster
	// and behind Sentinels it is empty: use Clients.
	Addrs []string
	// Dial connects this process to a server.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Clock is that of the machine of this process; nil for the one of package time.
	Clock interface {
		Now() time.Time
		IsRead() bool // whether anybody has called Now
	}

	options []lock.Option // of the reference lock, besides those of the lock under test
}

// Now is the time by the clock of the process.
func (e Environment) Now() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock.Now()
}

// Setting holds the parameters of a run on which the promises of a lock depend.
type Setting struct {
	Lease   time.Duration // that the workload asks for
	Poll    time.Duration // how long a waiter goes without looking; 0 for the lock's default
	Handoff time.Duration // how long a waiter may overlook a free lock; 0 to derive it from Poll
	Acks    int           // how many replicas must confirm a grant, with a lock that waits for them; 0 is 1
	Scale   float64       // what the times of the run are scaled by
}

// LongestOperation is the longest duration of one request over loopback on a busy
// machine.
const LongestOperation = 100 * time.Millisecond

// Scaled converts a duration of the scenario to the time of a run.
func Scaled(d time.Duration, scale float64) time.Duration {
	return time.Duration(math.Round(float64(d) * scale))
}

func (s Setting) scaled(d time.Duration) time.Duration { return Scaled(d, s.Scale) }

// handoff is the time for which a waiter may overlook a free lock. It is the poll
// interval, and half a second for the requests around a poll. A real machine needs a part
// of that at every time scale.
func (s Setting) handoff(poll time.Duration) int64 {
	if s.Handoff > 0 {
		return int64(max(s.Handoff, 2*LongestOperation))
	}
	looks := cmp.Or(s.Poll, s.scaled(poll))
	return int64(looks + max(s.scaled(handoffMargin), 2*LongestOperation))
}

// Terms are the claims by which the lock is judged in a run, with their numbers.
func (s *Lock) Terms(in Setting) history.Terms {
	t := s.numbers(in)
	t.Claims, t.Quorum, t.Nodes = s.Claims.Judged(), s.Quorum(), s.Groups
	if s.Acks || s.ThirdParty != nil && s.ThirdParty.Acks {
		t.Acks = max(1, in.Acks)
	}
	return t
}

// Quorum is the number of primaries that a hold needs.
func (s *Lock) Quorum() int { return cmp.Or(s.quorum, s.Groups) }

// HasCarefulUser reports whether a user can know the end of its hold's validity:
// the lock has a lease, or notifies of a loss.
func (s *Lock) HasCarefulUser() bool {
	return s.Claims.Lease || s.Claims.LostSign
}

// Habits are features of a built-in lock that are no promises. For a third-party
// lock they show only in a run.
type Habits struct {
	Scripts bool // sends scripts by their hash
	Looks   bool // reads the key before it deletes it
	Clock   bool // asks for the time of its client
	Chance  bool // lets in too many, without a fault, when requests arrive in some orders
}

// Session is a lock under test in one client process.
type Session interface {
	// Locker is one owner's view of one lock; a thread is an owner.
	Locker(name, thread string) lock.Locker
	// Identity is the value that the lock stores on a server for a thread, ""
	// if unknown. The lock may add a number to a value that ends with "::".
	Identity(thread string) string
	// Close closes the lock as its users would, possibly in the middle of work.
	Close() error
}

// Sharer is implemented by the sessions of locks for readers and writers, and of
// semaphores whose acquires can take several permits.
type Sharer interface {
	// ShareLocker is like Locker, for an owner that takes this share of the lock.
	ShareLocker(name, thread string, share history.Share) lock.Locker
}

// Observer is implemented by the sessions of locks that tell who holds them.
type Observer interface {
	// Observer returns a function for a thread without a hold that asks who holds a lock.
	// It names the holder by the value that the lock stores, or as [Session].Identity or
	// the session's OwnerName does. The result "" means that the lock is free.
	Observer(name, thread string) func(context.Context) (holder string, err error)
}

// Leaver is implemented by sessions that can shut down: one call releases all holds
// of the process and closes the lock. Its error is like that of a release.
type Leaver interface {
	Shutdown(ctx context.Context) error
}

// Names returns the names of the built-in locks, in the order reports show them.
func Names() []string {
	names := make([]string, len(builtIn))
	for i, s := range builtIn {
		names[i] = s.name
	}
	return names
}

// Summary describes the lock in a line.
func (s *Lock) Summary() string { return s.summary }

// Find returns a built-in lock, a mutant of the gallery, or one that was registered.
func Find(name string) (*Lock, error) {
	if i := slices.IndexFunc(builtIn, func(s *Lock) bool { return s.name == name }); i >= 0 {
		return builtIn[i], nil
	}
	switch name {
	case gallery.FairQueue:
		return fairQueue()
	case smallRedLockName:
		return smallRedLock(), nil
	}
	if m, ok := gallery.Find(name); ok {
		return mutantOf(m)
	}
	if i := slices.IndexFunc(registered, func(s *Lock) bool { return s.name == name }); i >= 0 {
		return registered[i], nil
	}
	return nil, fmt.Errorf("unknown lock %q", name)
}

// registered are further locks that [Find] finds.
var registered []*Lock

// Register lets [Find] find a further lock by its name. It is for programs that play locks
// of their own in several processes; call it before any run, in each of them.
func Register(l *Lock) { registered = append(registered, l) }

// MustFind is [Find] for a correct name; it panics for any other.
func MustFind(name string) *Lock {
	s, err := Find(name)
	if err != nil {
		panic(err)
	}
	return s
}
