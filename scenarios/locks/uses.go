package locks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
)

// uses are further ways to use the reference lock. They reach code that the built-in
// locks do not call. Only mutation plays them, so they are in no list; [Find]
// finds them by name. They are judged by their claims, like third-party locks.
var uses = []struct {
	description Description
	open        func(Environment) (Session, error)
}{
	{Description{
		Name: "reentrant-do", Summary: "the reference lock, with each critical section in one call of Do",
		Claims: useClaims(func(c *history.Claims) { c.TakesBack, c.Extends, c.ShutsDown, c.Messages = true, true, true, true }),
	}, openDo},
	{Description{
		Name: "reentrant-force", Summary: "the reference lock, released by ForceUnlock while its lease lasts",
		Claims: useClaims(func(c *history.Claims) { c.TakesBack, c.Messages = true, true }),
	}, openForce},
}

// useClaims are the claims of every use, and more.
func useClaims(more func(*history.Claims)) history.Claims {
	c := history.Claims{Waits: true, Cancels: true, Closes: true, Lease: true, Explicit: true, Renewal: true, LostSign: true}
	more(&c)
	return c
}

// Uses are the names of further ways to use the reference lock.
func Uses() []string {
	names := make([]string, len(uses))
	for i, u := range uses {
		names[i] = u.description.Name
	}
	return names
}

// findUse finds a further way to use the reference lock; nil for none of that name.
func findUse(name string) (*Lock, error) {
	for _, u := range uses {
		if d := u.description; d.Name == name {
			d.RenewEvery, d.HandoffNS = 0.334, int64(DefaultSafetyPoll)
			d.Drift = &Drift{Rate: 0.01, ConstNS: int64(2 * time.Millisecond)}
			return newThirdParty(d, u.open)
		}
	}
	return nil, nil
}

func openDo(e Environment) (Session, error) {
	s := &doSession{}
	s.callSession = newCallSession(e, 1, func(clients []*lock.Client, name, _ string) lock.Locker {
		l := &doLocker{client: clients[0], name: name}
		s.lockers = append(s.lockers, l) // under the mutex of Locker
		return l
	})
	return s, nil
}

// doSession ends the calls of Do that still run when it is closed.
type doSession struct {
	*callSession
	lockers []*doLocker
}

// Shutdown implements [Leaver].
func (s *doSession) Shutdown(ctx context.Context) error {
	defer s.end()
	return s.callSession.Shutdown(ctx)
}

// Close implements [Session].
func (s *doSession) Close() error {
	defer s.end()
	return s.callSession.Close()
}

// end lets the work of all calls return.
func (s *doSession) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lockers {
		l.end()
	}
}

// doLocker makes an acquire and its release out of one call of Do.
// It implements [lock.Locker], [lock.Extender] and [lock.LostNotifier].
type doLocker struct {
	client *lock.Client
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

func openForce(e Environment) (Session, error) {
	s, err := openReference()(e)
	if err != nil {
		return nil, err
	}
	return forceSession{s}, nil
}

type forceSession struct{ Session }

// Locker implements [Session].
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
