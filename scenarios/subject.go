package scenarios

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/live/worker"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/lock/gallery"
)

// Subject is a lock under test: a built-in one, see [FindSubject], or one of
// somebody else's, see [NewGuest].
type Subject struct {
	name    string
	summary string
	groups  int  // independent primaries it needs
	acks    bool // needs a replica to wait for
	fenced  bool // its token guards the resource
	claims  func(s *Scenario) history.Claims
	open    func(e Environment) (Session, error) // nil for one that lives in other processes
	// checkName says why the lock cannot have a name; nil when it takes any.
	checkName func(name string) error
	// keeps says whether a key may remain when everybody has let go.
	keeps func(name, key string) bool
	// like is the built-in lock whose expectations hold for it, empty for its
	// own name.
	like string
	// guest is what a lock that is not built in says of itself.
	guest *worker.Description
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

// Session is a lock under test in one client process.
type Session interface {
	// Locker is one owner's view of one lock; a thread is an owner.
	Locker(name, thread string) lock.Locker
	// Identity is what the lock stores on a server for a thread, "" where that
	// is not known.
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

// suits says whether a lock can be played in a scenario at all.
func (s *Subject) suits(sc *Scenario) (ok bool, reason string) {
	switch {
	case s.acks && sc.Topology.Replicas == 0:
		return false, "there is no replica to wait for"
	case s.acks && sc.Topology.Replicas < sc.Workload.Acks:
		return false, fmt.Sprintf("it waits for %d replicas, and there are %d", sc.Workload.Acks, sc.Topology.Replicas)
	case s.groups > 1 && sc.Topology.Cluster:
		return false, "it needs independent primaries, not the slots of one cluster"
	case len(sc.Workload.Nested) > 0 && !s.claims(sc).Reentrant:
		return false, "it is not reentrant"
	}
	if s.checkName != nil {
		if err := s.checkName(sc.withDefaults().Workload.Lock); err != nil {
			return false, err.Error()
		}
	}
	if s.guest != nil {
		return suitsGuest(s.guest, sc)
	}
	return true, ""
}
