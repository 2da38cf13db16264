package locks

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/lock"
)

func openFair(e Environment) (Session, error) {
	return newCallSession(e, func(c *lock.Client, name string) lock.Locker { return &fairLocker{lock: c.NewFairLock(name)} }), nil
}

// callSession is the session of a lock whose calls are its owners. It has a client for
// each thread, so that the owner of a thread's calls always has the same name.
type callSession struct {
	env     Environment
	make    func(c *lock.Client, name string) lock.Locker
	mu      sync.Mutex
	order   []*lock.Client
	clients map[string]*lock.Client // by thread
	closed  bool
}

func newCallSession(e Environment, locker func(c *lock.Client, name string) lock.Locker) *callSession {
	return &callSession{env: e, make: locker, clients: map[string]*lock.Client{}}
}

func (s *callSession) id(thread string) string { return s.env.Process + "/" + thread }

// Identity implements [Session]. Each call is an owner with the least free number;
// a call that is being taken back keeps its number.
func (s *callSession) Identity(thread string) string { return s.id(thread) + "::" }

// Locker implements [Session].
func (s *callSession) Locker(name, thread string) lock.Locker {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[thread]
	if c == nil {
		if s.closed {
			return failedLocker{lock.ErrClosed}
		}
		e := s.env
		made, err := lock.New(e.Clients[0], append([]lock.Option{lock.WithID(s.id(thread)), lock.WithWatchdogTimeout(e.Lease),
			lock.WithSafetyPoll(cmp.Or(e.Poll, Scaled(DefaultSafetyPoll, e.Scale))), lock.WithUnlockTimeout(Scaled(unlockTimeout, e.Scale)),
			lock.WithRand(random.Stream(e.Seed, "lock", e.Process, thread))}, e.options...)...)
		if err != nil {
			return failedLocker{err}
		}
		c = made
		s.clients[thread] = c
		s.order = append(s.order, c)
	}
	return s.make(c, name)
}

// Close implements [Session].
func (s *callSession) Close() error {
	var errs []error
	for _, c := range s.refuse() {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Shutdown implements [Leaver].
func (s *callSession) Shutdown(ctx context.Context) error {
	all := s.refuse()
	return shutdown(ctx, all, len(all))
}

// refuse returns the clients, and lets no other come. A client may take long to close. A
// call that asks for a locker meanwhile must not wait for a mutex, as virtual time would
// stop.
func (s *callSession) refuse() []*lock.Client {
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
type fairLocker struct {
	lock *lock.FairLock
	mu   sync.Mutex
	hold *lock.Hold
}

var (
	_ lock.LostNotifier = (*fairLocker)(nil)
	_ lock.Extender     = (*fairLocker)(nil)
)

// Lock implements [lock.Locker].
func (l *fairLocker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.took(l.lock.Acquire(ctx, opts...))
}

// TryLock implements [lock.Locker].
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

// Unlock implements [lock.Locker].
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

// Extend implements [lock.Extender].
func (l *fairLocker) Extend(ctx context.Context, d time.Duration) error {
	if h := l.current(); h != nil {
		return h.Extend(ctx, d)
	}
	return lock.ErrNotHeld
}

// Lost implements [lock.LostNotifier].
func (l *fairLocker) Lost() <-chan struct{} {
	if h := l.current(); h != nil {
		return h.Lost()
	}
	return nil
}
