package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// ServeBuiltIn is a client process. It opens the lock that the harness names, and uses it
// as requested, until the harness stops it.
func ServeBuiltIn(ctx context.Context, in io.Reader, out io.Writer) error {
	return Serve(ctx, in, out, Program{Open: openBuiltIn})
}

func openBuiltIn(h Hello) (Lock, error) {
	tested, err := locks.Find(h.Lock)
	if err != nil {
		return nil, err
	}
	env := locks.Environment{
		Process: h.Process, Seed: h.Seed, Lease: time.Duration(h.LeaseNS), Poll: time.Duration(h.PollNS),
		Replicas: h.Replicas, Acks: h.Acks, Scale: cmp.Or(h.Redis.TimeScale, 1),
	}
	for g := 1; g <= tested.Groups; g++ {
		c := h.Redis.Client(g)
		env.Clients = append(env.Clients, c)
		// A process that has been up for a while is connected.
		if err := c.Ping(context.Background()).Err(); err != nil {
			return nil, fmt.Errorf("reach group %d: %w", g, err)
		}
	}
	s, err := tested.Open(env)
	if err != nil {
		return nil, err
	}
	return SessionLock(s, env.Clients), nil
}

// sessionLock implements [adapter.Lock], [locks.Sharer], [locks.Observer] and [locks.Leaver].
type sessionLock struct {
	locks.Session
	clients []redis.UniversalClient
}

// SessionLock makes what a client process serves of a lock that is open, and
// of its connections, which are closed after it.
func SessionLock(s locks.Session, clients []redis.UniversalClient) Lock {
	return &sessionLock{s, clients}
}

func (l *sessionLock) Locker(name, thread string) (lock.Locker, error) {
	return l.Session.Locker(name, thread), nil
}

func (l *sessionLock) ShareLocker(name, thread string, share history.Share) lock.Locker {
	return l.Session.(locks.Sharer).ShareLocker(name, thread, share)
}

// Observer implements [locks.Observer], where the lock does.
func (l *sessionLock) Observer(name, thread string) func(context.Context) (string, error) {
	if o, ok := l.Session.(locks.Observer); ok {
		return o.Observer(name, thread)
	}
	return namesNoHolder
}

// namesNoHolder is the observer of a lock that is no [locks.Observer].
func namesNoHolder(context.Context) (string, error) {
	return "", fmt.Errorf("the lock does not tell who holds it: %w", errors.ErrUnsupported)
}

func (l *sessionLock) Shutdown(ctx context.Context) error {
	if s, ok := l.Session.(locks.Leaver); ok {
		return s.Shutdown(ctx)
	}
	return fmt.Errorf("the lock cannot be shut down: %w", errors.ErrUnsupported)
}

func (l *sessionLock) Disconnect() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
