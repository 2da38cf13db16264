package adapter

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/lock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds what a test waits for.
const limit = 20 * time.Second

// fake is a lock whose operations the test plays.
type fake struct {
	closed, cut int
	closeErr    error
	onDisc      func()

	mu      sync.Mutex
	lockers map[string]*fakeLocker
}

type fakeLocker struct {
	acquire func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error)
	release func(ctx context.Context) (int, error)

	mu   sync.Mutex
	lost chan struct{}
}

func (f *fake) Locker(name, thread string) (lock.Locker, error) {
	if name == "" {
		return nil, errors.New("the name is empty")
	}
	return f.of(name, thread), nil
}

// of is the locker of an owner; it grants everything by default.
func (f *fake) of(name, thread string) *fakeLocker {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lockers == nil {
		f.lockers = map[string]*fakeLocker{}
	}
	if f.lockers[name+"/"+thread] == nil {
		f.lockers[name+"/"+thread] = &fakeLocker{}
	}
	return f.lockers[name+"/"+thread]
}

func (f *fake) Identity(thread string) string { return "me:" + thread }
func (f *fake) Close() error                  { f.closed++; return f.closeErr }
func (f *fake) Describe() (string, string)    { return "fake", "1.2" }
func (f *fake) Disconnect() error {
	f.cut++
	if f.onDisc != nil {
		f.onDisc()
	}
	return nil
}

func (l *fakeLocker) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.take(ctx, lock.NewAcquire(opts), true)
}

func (l *fakeLocker) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.take(ctx, lock.NewAcquire(opts), false)
}

func (l *fakeLocker) take(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
	if l.acquire != nil {
		return l.acquire(ctx, a, forever)
	}
	l.hold()
	return lock.Grant{Count: 1}, nil
}

// hold begins a hold that can be lost.
func (l *fakeLocker) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = make(chan struct{})
}

func (l *fakeLocker) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.lost)
}

func (l *fakeLocker) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *fakeLocker) Unlock(ctx context.Context) (int, error) {
	if l.release != nil {
		return l.release(ctx)
	}
	return 0, nil
}

// converse begins a conversation with a process that plays f, and greets it.
func converse(t *testing.T, f Lock) *Conversation {
	t.Helper()
	c, served := connect(t, func(Hello) (Lock, error) { return f, nil })
	if _, err := c.Hello(bounded(t), Hello{Process: "client-1", Lock: "fake"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.Err() == nil {
			if err := c.Stop(bounded(t)); err != nil {
				t.Error(err)
			}
			if err := await(t, served); err != nil {
				t.Errorf("the process: %v", err)
			}
		}
	})
	return c
}

// connect begins a conversation with a process; served yields the end of that.
func connect(t *testing.T, open func(Hello) (Lock, error)) (c *Conversation, served chan error) {
	t.Helper()
	requests, toWorker := io.Pipe()
	fromWorker, replies := io.Pipe()
	c, served = New("client-1", toWorker, fromWorker), make(chan error, 1)
	go func() {
		served <- Serve(context.Background(), requests, replies, Program{Open: open})
		requests.Close()
		replies.Close()
	}()
	t.Cleanup(func() { c.End(errors.New("the test is over")) })
	return c, served
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatalf("not within %s", limit)
		panic("unreachable")
	}
}

// bounded is a context for a call that must not take long; unlike the test's
// own it can still be used when the test is cleaned up.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}
