package subject

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/subject/gallery"
)

// Subject is a lock under test: a built-in one, see [FindSubject], or one of
// somebody else's, see [NewThirdParty].
type Subject struct {
	name    string
	summary string
	Groups  int  // independent primaries it needs
	Acks    bool // needs a replica to wait for
	Fenced  bool // its token guards the resource
	// Closes, Messages and Habits are what a built-in lock does besides its
	// claims: it can be closed while it is in use, and its waiters are woken by a
	// message on one server.
	Closes, Messages bool
	Habits           Habits
	Claims           func(s Setting) history.Claims
	Open             func(e Environment) (Session, error) // nil for one that lives in other processes
	// CheckName says why the lock cannot have a name; nil when it takes any.
	CheckName func(name string) error
	// Keeps says whether a key may remain when everybody has let go.
	Keeps func(name, key string) bool
	// Like is the built-in lock whose expectations hold for it, empty for its
	// own name.
	Like string
	// ThirdParty is what a lock that is not built in says of itself.
	ThirdParty *Description
}

// Name is the lock's in reports.
func (s *Subject) Name() string { return s.name }

// Environment is what a lock under test gets in one client process.
type Environment struct {
	Process  string                  // the client's name, which no other process has
	Seed     uint64                  // where what is drawn at random is to come from
	Lease    time.Duration           // lease, and watchdog timeout
	Poll     time.Duration           // how long a waiter goes without looking; 0 for the lock's default
	Replicas int                     // of each primary
	Acks     int                     // how many of them must confirm a grant; 0 is 1
	Scale    float64                 // what the times of the run are scaled by
	Clients  []redis.UniversalClient // one per group
	// Addrs are where the groups' primaries are, for Dial. In a cluster, and
	// behind Sentinels, it is empty: there are Clients only.
	Addrs []string
	// Dial connects this process to a server.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	options []lock.Option // of the reference lock, besides those of the subject
}

// Setting is what the promises of a lock depend on in a run.
type Setting struct {
	Lease   time.Duration // that the workload asks for
	Poll    time.Duration // how long a waiter goes without looking; 0 for the lock's default
	Handoff time.Duration // how long a waiter may overlook a free lock; 0 for what follows from Poll
	Acks    int           // how many replicas must confirm a grant, with a lock that waits for them; 0 is 1
	Scale   float64       // what the times of the run are scaled by
}

// LongestOperation is how long one request takes at most over loopback on a busy
// machine.
const LongestOperation = 100 * time.Millisecond

// Scaled is a duration of the scenario in the time of a run.
func Scaled(d time.Duration, scale float64) time.Duration {
	return time.Duration(math.Round(float64(d) * scale))
}

func (s Setting) scaled(d time.Duration) time.Duration { return Scaled(d, s.Scale) }

// handoff is how long a waiter may overlook a free lock: the time between two
// looks, and half a second for the requests around a look. A real machine needs
// a part of that however fast the run is played.
func (s Setting) handoff(poll time.Duration) int64 {
	if s.Handoff > 0 {
		return int64(max(s.Handoff, 2*LongestOperation))
	}
	looks := cmp.Or(s.Poll, s.scaled(poll))
	return int64(looks + max(s.scaled(handoffMargin), 2*LongestOperation))
}

// HasCarefulUser says whether a user of the lock can know when the validity of its
// hold is over: it has a lease to count, or the lock tells of a loss.
func (s *Subject) HasCarefulUser(in Setting) bool {
	c := s.Claims(in)
	return c.Lease || c.LostSign
}

// Session is a lock under test in one client process.
type Session interface {
	// Locker is one owner's view of one lock; a thread is an owner.
	Locker(name, thread string) lock.Locker
	// Identity is what the lock stores on a server for a thread, "" where that
	// is not known. The lock may add a number to one that ends with "::".
	Identity(thread string) string
	// Close closes the lock as its users would, maybe in the middle of work.
	Close() error
}

// Locks returns the names of the built-in locks, in the order reports show them.
func Locks() []string {
	names := make([]string, len(subjects))
	for i, s := range subjects {
		names[i] = s.name
	}
	return names
}

// Summary says in a line what the lock is.
func (s *Subject) Summary() string { return s.summary }

// FindSubject finds a built-in lock, or one of the gallery.
func FindSubject(name string) (*Subject, error) {
	if i := slices.IndexFunc(subjects, func(s *Subject) bool { return s.name == name }); i >= 0 {
		return subjects[i], nil
	}
	if name == gallery.FairQueue {
		return fairQueue()
	}
	if m, ok := gallery.Find(name); ok {
		return mutantOf(m)
	}
	return nil, fmt.Errorf("unknown lock %q", name)
}

// MustFind is [FindSubject] for a name that is known to be right; it panics
// otherwise.
func MustFind(name string) *Subject {
	s, err := FindSubject(name)
	if err != nil {
		panic(err)
	}
	return s
}
