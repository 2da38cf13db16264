// Package uses has further ways to use the reference lock. They reach code that the
// built-in locks do not call, so mutation plays them, too. [locks.Find] finds them in a
// program that imports the package.
package uses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// uses are judged by their claims, like third-party locks.
var uses = []struct {
	description locks.Description
	open        func(locks.Environment) (locks.Session, error)
}{
	{locks.Description{
		Name: "reentrant-do", Summary: "the reference lock, with each critical section in one call of Do",
		Claims: claims(func(c *history.Claims) { c.TakesBack, c.Extends, c.ShutsDown, c.Messages = true, true, true, true }),
	}, openDo},
	{locks.Description{
		Name: "reentrant-force", Summary: "the reference lock, released by ForceUnlock while its lease lasts",
		Claims: claims(func(c *history.Claims) { c.TakesBack, c.Messages = true, true }),
	}, openForce},
}

// claims are those of every use, and more.
func claims(more func(*history.Claims)) history.Claims {
	c := history.Claims{Waits: true, Cancels: true, Closes: true, Lease: true, Explicit: true, Renewal: true, LostSign: true}
	more(&c)
	return c
}

// Names are the names of the uses.
func Names() []string {
	names := make([]string, len(uses))
	for i, u := range uses {
		names[i] = u.description.Name
	}
	return names
}

func init() {
	for _, u := range uses {
		d := u.description
		d.RenewEvery, d.HandoffNS = 0.334, int64(locks.DefaultSafetyPoll)
		d.Drift = &locks.Drift{Rate: 0.01, ConstNS: int64(2 * time.Millisecond)}
		l, err := locks.NewThirdParty(d, u.open)
		if err != nil {
			panic(err)
		}
		locks.Register(l)
	}
}

func openDo(e locks.Environment) (locks.Session, error) {
	return &doSession{env: e, clients: map[string]*lock.Client{}}, nil
}

// doSession has a client for each thread, so that the owner of a thread's calls always has
// the same name.
type doSession struct {
	env locks.Environment

	mu      sync.Mutex
	clients map[string]*lock.Client // by thread
	order   []*lock.Client
	lockers []*doLocker
	closed  bool
}

// Identity implements [locks.Session]. Each call is an owner with the least free number.
func (s *doSession) Identity(thread string) string { return s.env.Process + "/" + thread + "::" }

// Locker implements [locks.Session].
func (s *doSession) Locker(name, thread string) lock.Locker {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &doLocker{name: name}
	l.client, l.err = s.clientOf(thread)
	s.lockers = append(s.lockers, l)
	return l
}

// clientOf returns the client of a thread. The caller holds mu.
func (s *doSession) clientOf(thread string) (*lock.Client, error) {
	if c := s.clients[thread]; c != nil {
		return c, nil
	}
	if s.closed {
		return nil, lock.ErrClosed
	}
	e := s.env
	c, err := lock.New(e.Clients[0], lock.WithID(e.Process+"/"+thread), lock.WithWatchdogTimeout(e.Lease),
		lock.WithSafetyPoll(cmp.Or(e.Poll, locks.Scaled(locks.DefaultSafetyPoll, e.Scale))),
		lock.WithRand(random.Stream(e.Seed, "lock", e.Process, thread)))
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", thread, err)
	}
	s.clients[thread] = c
	s.order = append(s.order, c)
	return c, nil
}

// Shutdown implements [locks.Leaver].
func (s *doSession) Shutdown(ctx context.Context) error {
	return s.leave(func(c *lock.Client) error { return c.Shutdown(ctx) })
}

// Close implements [locks.Session].
func (s *doSession) Close() error { return s.leave((*lock.Client).Close) }

// leave ends the clients, and then the work of all calls that still run. A client may take
// long. A call that asks for a locker meanwhile must not wait for a mutex, as virtual time
// would stop.
func (s *doSession) leave(end func(*lock.Client) error) error {
	s.mu.Lock()
	s.closed = true
	clients, lockers := s.order, s.lockers // they stay as they are from here on
	s.mu.Unlock()
	errs := make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { errs[i] = end(c) })
	}
	all.Wait()
	for _, l := range lockers {
		l.end()
	}
	return errors.Join(errs...)
}

// doLocker makes an acquire and its release out of one call of Do.
// It implements [lock.Locker], [lock.Extender] and [lock.LostNotifier].
type doLocker struct {
	client *lock.Client
	err    error // that the client could not be opened with
	name   string

	mu   sync.Mutex
	call *doCall // nil without a hold
}

type doCall struct {
	hold  *lock.Hold
	leave chan struct{} // closed when the work is over
	done  chan error    // of Do
	over  bool          // Do has returned
}

func (l *doLocker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	if l.err != nil {
		return lock.Grant{}, l.err
	}
	d := &doCall{leave: make(chan struct{}), done: make(chan error, 1)}
	granted := make(chan *lock.Hold, 1)
	go func() {
		d.done <- l.client.Do(ctx, l.name, func(_ context.Context, h *lock.Hold) error {
			granted <- h
			<-d.leave
			return nil
		}, opts...)
	}()
	select {
	case err := <-d.done:
		return lock.Grant{}, err
	case d.hold = <-granted:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.call = d
	return lock.Grant{Count: 1, Token: d.hold.Token()}, nil
}

func (l *doLocker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.Lock(ctx, append([]lock.AcquireOption{lock.Wait(0)}, opts...)...)
}

// current is the call with the hold, or nil.
func (l *doLocker) current() *doCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.call
}

// end lets the work of the call return.
func (l *doLocker) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call != nil && !l.call.over {
		l.call.over = true
		close(l.call.leave)
	}
}

// Unlock implements [lock.Locker]. If Do could not tell what became of its release,
// Unlock repeats that.
func (l *doLocker) Unlock(ctx context.Context) (remaining int, err error) {
	d := l.current()
	switch {
	case d == nil:
		return 0, lock.ErrNotHeld
	case d.over:
		err = d.hold.Release(ctx)
	default:
		l.end()
		err = <-d.done
	}
	if !errors.Is(err, lock.ErrUnknown) {
		l.mu.Lock()
		l.call = nil
		l.mu.Unlock()
	}
	return 0, err
}

func (l *doLocker) Extend(ctx context.Context, d time.Duration) error {
	if call := l.current(); call != nil {
		return call.hold.Extend(ctx, d)
	}
	return lock.ErrNotHeld
}

func (l *doLocker) Lost() <-chan struct{} {
	if call := l.current(); call != nil {
		return call.hold.Lost()
	}
	return nil
}

func openForce(e locks.Environment) (locks.Session, error) {
	s, err := locks.MustFind("reentrant").Open(e)
	if err != nil {
		return nil, err
	}
	return forceSession{s}, nil
}

type forceSession struct{ locks.Session }

// Locker implements [locks.Session].
func (s forceSession) Locker(name, thread string) lock.Locker {
	return &forceLocker{Reentrant: s.Session.Locker(name, thread).(*lock.Reentrant)}
}

// forceLocker releases by force while its lease lasts: no other owner has the lock then.
type forceLocker struct {
	*lock.Reentrant
	forced bool // without an answer
}

// Unlock implements [lock.Locker].
func (l *forceLocker) Unlock(ctx context.Context) (remaining int, err error) {
	if l.forced || l.Remaining() == 0 {
		return l.Reentrant.Unlock(ctx)
	}
	freed, err := l.ForceUnlock(ctx)
	switch {
	case errors.Is(err, lock.ErrUnknown):
		l.forced = true
		return 0, err
	case err != nil:
		return 0, err
	case !freed:
		return 0, lock.ErrLost
	}
	if _, err := l.Reentrant.Unlock(ctx); !errors.Is(err, lock.ErrLost) && !errors.Is(err, lock.ErrNotHeld) { // the client has noticed
		return 0, errors.Join(errors.New("a forced release goes unnoticed"), err)
	}
	return 0, nil
}
