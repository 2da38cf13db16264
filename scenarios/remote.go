package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/live/worker"
	"github.com/holdfast-go/holdfast/lock"
)

// remoteSession is a lock under test in a client process of its own.
type remoteSession struct{ *worker.Conversation }

func (s *remoteSession) locker(name, thread string) lock.Locker { return s.Locker(name, thread) }

// identity is empty when the process cannot be asked any more: then it does
// nothing under that identity either.
func (s *remoteSession) identity(thread string) string {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	id, _ := s.Identity(ctx, thread)
	return id
}

// Close implements session.
func (s *remoteSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	return s.CloseLock(ctx)
}

// ServeWorker is a client process: it opens the lock that it is told to, and
// does with it what it is asked, until it is told to stop.
func ServeWorker(ctx context.Context, in io.Reader, out io.Writer) error {
	return worker.Serve(ctx, in, out, worker.Program{Open: openWorker})
}

// openWorker opens a built-in lock over connections of its own.
func openWorker(h worker.Hello) (worker.Lock, error) {
	sub, err := subjectOf(h.Lock)
	if err != nil {
		return nil, err
	}
	env := environment{
		process: h.Process, seed: h.Seed, lease: time.Duration(h.LeaseNS), poll: time.Duration(h.PollNS),
		replicas: h.Replicas, scale: cmp.Or(h.Redis.TimeScale, 1),
	}
	for g := 1; g <= sub.groups; g++ {
		c := h.Redis.Client(g)
		env.clients = append(env.clients, c)
		// A process that has been up for a while is connected.
		if err := c.Ping(context.Background()).Err(); err != nil {
			return nil, fmt.Errorf("reach group %d: %w", g, err)
		}
	}
	s, err := sub.open(env)
	if err != nil {
		return nil, err
	}
	return &workerLock{s, env.clients}, nil
}

// workerLock is a built-in lock with its connections.
type workerLock struct {
	session
	clients []redis.UniversalClient
}

// Locker implements [worker.Lock].
func (l *workerLock) Locker(name, thread string) (lock.Locker, error) {
	return l.locker(name, thread), nil
}

// Identity implements [worker.Lock].
func (l *workerLock) Identity(thread string) string { return l.identity(thread) }

// Disconnect implements [worker.Lock].
func (l *workerLock) Disconnect() error {
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
