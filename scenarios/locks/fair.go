package locks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/lock"
)

func openFair(e Environment) (Session, error) {
	return newCallSession(e, 1, func(c []*lock.Client, name, _ string) lock.Locker { return &fairLocker{lock: c[0].NewFairLock(name)} }), nil
}

// openGroup opens a group of the reference lock on all servers, which needs so many of
// them for a release.
func openGroup(needed int, newGroup func(lock.GroupOptions, ...lock.Member) *lock.Group) func(Environment) (Session, error) {
	return func(e Environment) (Session, error) {
		return newCallSession(e, needed, func(clients []*lock.Client, name, thread string) lock.Locker {
			members := make([]lock.Member, len(clients))
			for i, c := range clients {
				members[i] = lock.Member{Client: c, Name: name}
			}
			return newGroup(lock.GroupOptions{Rand: random.Stream(e.Seed, "rounds", e.Process, thread)}, members...)
		}), nil
	}
}

// callSession is the session of a lock whose calls are its owners. It has a client of each
// server for each thread, so that the owner of a thread's calls always has the same name.
// It implements [Session] and [Leaver].
type callSession struct {
	env     Environment
	make    func(clients []*lock.Client, name, thread string) lock.Locker
	needed  int // clients of a thread whose shutdown must succeed
	mu      sync.Mutex
	order   [][]*lock.Client
	clients map[string][]*lock.Client // by thread
	closed  bool
}

func newCallSession(e Environment, needed int, locker func(clients []*lock.Client, name, thread string) lock.Locker) *callSession {
	return &callSession{env: e, needed: needed, make: locker, clients: map[string][]*lock.Client{}}
}

func (s *callSession) id(thread string) string { return s.env.Process + "/" + thread }

// Identity implements [Session]. Each call is an owner with the least free number;
// a call that is being taken back keeps its number.
func (s *callSession) Identity(thread string) string { return s.id(thread) + "::" }

func (s *callSession) Locker(name, thread string) lock.Locker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[thread] == nil {
		if s.closed {
			return failedLocker{lock.ErrClosed}
		}
		clients, err := newClients(s.env, s.id(thread), thread)
		if err != nil {
			return failedLocker{err}
		}
		s.clients[thread] = clients
		s.order = append(s.order, clients)
	}
	return s.make(s.clients[thread], name, thread)
}

// newClients returns a client of the reference lock for each server.
func newClients(e Environment, id, stream string, opts ...lock.Option) ([]*lock.Client, error) {
	var clients []*lock.Client
	for i, rdb := range e.Clients {
		streams := []string{"lock", e.Process, stream}
		if i > 0 {
			streams = append(streams, strconv.Itoa(i))
		}
		c, err := lock.New(rdb, append([]lock.Option{lock.WithID(id), lock.WithWatchdogTimeout(e.Lease),
			lock.WithSafetyPoll(cmp.Or(e.Poll, Scaled(DefaultSafetyPoll, e.Scale))), lock.WithUnlockTimeout(Scaled(unlockTimeout, e.Scale)),
			lock.WithRand(random.Stream(e.Seed, streams...))}, slices.Concat(opts, e.options)...)...)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func (s *callSession) Close() error {
	var errs []error
	for _, clients := range s.refuse() {
		errs = append(errs, closeAll(clients))
	}
	return errors.Join(errs...)
}

func (s *callSession) Shutdown(ctx context.Context) error {
	all := s.refuse()
	errs := make([]error, len(all))
	var threads sync.WaitGroup
	for i, clients := range all {
		threads.Go(func() { errs[i] = shutdown(ctx, clients, s.needed) })
	}
	threads.Wait()
	return errors.Join(errs...)
}

// refuse returns the clients, and lets no other come. A client may take long to close. A
// call that asks for a locker meanwhile must not wait for a mutex, as virtual time would
// stop.
func (s *callSession) refuse() [][]*lock.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.order // it stays as it is from here on
}

// failedLocker is a lock that could not be opened.
type failedLocker struct{ err error }

func (l failedLocker) Lock(context.Context, ...lock.AcquireOption) (lock.Grant, error) {
	return lock.Grant{}, l.err
}
func (l failedLocker) TryLock(context.Context, ...lock.AcquireOption) (lock.Grant, error) {
	return lock.Grant{}, l.err
}
func (l failedLocker) Unlock(context.Context) (int, error) { return 0, l.err }

// fairLocker keeps the hold of one owner.
// It implements [lock.Locker], [lock.Extender] and [lock.LostNotifier].
type fairLocker struct {
	lock *lock.FairLock
	mu   sync.Mutex
	hold *lock.Hold
}

var (
	_ lock.LostNotifier = (*fairLocker)(nil)
	_ lock.Extender     = (*fairLocker)(nil)
)

func (l *fairLocker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.took(l.lock.Acquire(ctx, opts...))
}

func (l *fairLocker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.took(l.lock.Acquire(ctx, append([]lock.AcquireOption{lock.Wait(0)}, opts...)...))
}

func (l *fairLocker) took(h *lock.Hold, err error) (lock.Grant, error) {
	if err != nil {
		return lock.Grant{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = h
	return lock.Grant{Count: 1, Token: h.Token()}, nil
}

// current is the hold, or nil.
func (l *fairLocker) current() *lock.Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold
}

func (l *fairLocker) Unlock(ctx context.Context) (int, error) {
	h := l.current()
	if h == nil {
		return 0, lock.ErrNotHeld
	}
	err := h.Release(ctx)
	if !errors.Is(err, lock.ErrUnknown) {
		l.mu.Lock()
		l.hold = nil
		l.mu.Unlock()
	}
	return 0, err
}

func (l *fairLocker) Extend(ctx context.Context, d time.Duration) error {
	if h := l.current(); h != nil {
		return h.Extend(ctx, d)
	}
	return lock.ErrNotHeld
}

func (l *fairLocker) Lost() <-chan struct{} {
	if h := l.current(); h != nil {
		return h.Lost()
	}
	return nil
}
