package liveplay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/subject/adapter"
)

// remoteSession is a lock under test in a client process of its own.
type remoteSession struct{ process *adapter.Conversation }

// Locker implements [Session].
func (s *remoteSession) Locker(name, thread string) lock.Locker {
	return s.process.Locker(name, thread)
}

// Identity implements [Session]. It is empty when the process cannot be asked any more: then it does
// nothing under that identity either.
func (s *remoteSession) Identity(thread string) string {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	id, _ := s.process.Identity(ctx, thread)
	return id
}

// Close implements [Session].
func (s *remoteSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return s.process.CloseLock(ctx)
}

// ServeWorker is a client process: it opens the lock that it is told to, and
// does with it what it is asked, until it is told to stop.
func ServeWorker(ctx context.Context, in io.Reader, out io.Writer) error {
	return adapter.Serve(ctx, in, out, adapter.Program{Open: openWorker})
}

// openWorker opens a built-in lock over connections of its own.
func openWorker(h adapter.Hello) (adapter.Lock, error) {
	sub, err := subject.FindSubject(h.Lock)
	if err != nil {
		return nil, err
	}
	env := subject.Environment{
		Process: h.Process, Seed: h.Seed, Lease: time.Duration(h.LeaseNS), Poll: time.Duration(h.PollNS),
		Replicas: h.Replicas, Acks: h.Acks, Scale: cmp.Or(h.Redis.TimeScale, 1),
	}
	for g := 1; g <= sub.Groups; g++ {
		c := h.Redis.Client(g)
		env.Clients = append(env.Clients, c)
		// A process that has been up for a while is connected.
		if err := c.Ping(context.Background()).Err(); err != nil {
			return nil, fmt.Errorf("reach group %d: %w", g, err)
		}
	}
	s, err := sub.Open(env)
	if err != nil {
		return nil, err
	}
	return NewWorkerLock(s, env.Clients), nil
}

// workerLock is a lock in a client process, with its connections.
type workerLock struct {
	subject.Session
	clients []redis.UniversalClient
}

// NewWorkerLock makes what a client process serves of a lock that is open, and
// of its connections, which are closed after it.
func NewWorkerLock(s subject.Session, clients []redis.UniversalClient) adapter.Lock {
	return &workerLock{s, clients}
}

// Locker implements [adapter.Lock].
func (l *workerLock) Locker(name, thread string) (lock.Locker, error) {
	return l.Session.Locker(name, thread), nil
}

// Disconnect implements [adapter.Lock].
func (l *workerLock) Disconnect() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
