package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
)

// The times of a request and of a grant must arrive to the nanosecond.
func TestAcquireAndRelease(t *testing.T) {
	f := &fake{}
	var asked []string
	f.of("stock", "1").acquire = func(_ context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
		asked = append(asked, fmt.Sprint(a.Wait, a.Lease, forever))
		return lock.Grant{Count: len(asked), Token: 1<<63 + 7, Lease: 1500*time.Millisecond + 1, Renewed: true}, nil
	}
	left := 2
	f.of("stock", "1").release = func(context.Context) (int, error) { left--; return left, nil }
	c := converse(t, f)
	l := c.Locker("stock", "1")
	g, err := l.TryLock(t.Context(), lock.Wait(300*time.Microsecond), lock.Lease(time.Second))
	if want := (lock.Grant{Count: 1, Token: 1<<63 + 7, Lease: 1500*time.Millisecond + 1, Renewed: true}); err != nil || g != want {
		t.Errorf("granted %+v, %v; want %+v", g, err, want)
	}
	if g, err := l.Lock(t.Context()); err != nil || g.Count != 2 {
		t.Errorf("nested: %+v, %v", g, err)
	}
	if want := []string{"300µs 1s false", "0s 0s true"}; !cmp.Equal(asked, want) {
		t.Errorf("the lock was asked for %q, want %q", asked, want)
	}
	for want := 1; want >= 0; want-- {
		if n, err := l.Unlock(t.Context()); err != nil || n != want {
			t.Errorf("released: %d left, %v; want %d", n, err, want)
		}
	}
	if id, err := c.Identity(t.Context(), "7"); err != nil || id != "me:7" {
		t.Errorf("identity %q, %v", id, err)
	}
}

// The workload must see the error class that the lock reported, all of them
// when there are several, and the lock's own words.
func TestErrorsKeepTheirClass(t *testing.T) {
	f := &fake{}
	var is error
	f.of("stock", "1").release = func(context.Context) (int, error) { return 0, is }
	l := converse(t, f).Locker("stock", "1")
	all := []error{lock.ErrBusy, lock.ErrNotHeld, lock.ErrLost, lock.ErrUnknown, lock.ErrAcks, lock.ErrClosed, context.Canceled, errors.ErrUnsupported}
	for _, c := range [][]error{
		{lock.ErrBusy}, {lock.ErrNotHeld}, {lock.ErrLost}, {lock.ErrUnknown}, {lock.ErrAcks}, {lock.ErrClosed},
		{context.Canceled}, {context.Canceled, lock.ErrUnknown}, {lock.ErrLost, lock.ErrNotHeld}, {errors.New("ERR no such thing")},
	} {
		is = fmt.Errorf("release stock: %w", errors.Join(c...))
		_, err := l.Unlock(t.Context())
		if err == nil || err.Error() != is.Error() {
			t.Errorf("got %q, want %q", err, is)
		}
		for _, class := range all {
			if got, want := errors.Is(err, class), errors.Is(is, class); got != want {
				t.Errorf("%q: is %q: %v, want %v", is, class, got, want)
			}
		}
	}
	is = context.DeadlineExceeded
	if _, err := l.Unlock(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("a deadline came back as %v", err)
	}
}

// A missing feature must not look like an answer of the lock.
func TestUnsupported(t *testing.T) {
	c := converse(t, &fake{})
	l := c.Locker("stock", "1")
	if err := l.Extend(t.Context(), time.Second); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("extend: %v", err)
	}
	if err := c.Shutdown(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("shutdown: %v", err)
	}
	if n, err := l.HoldCount(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("hold count: %d, %v", n, err)
	}
	if _, err := c.Locker("", "1").TryLock(t.Context()); err == nil || err.Error() != "the name is empty" {
		t.Errorf("a name that the lock refuses: %v", err)
	}
}

// leaving is a fake that can be shut down.
type leaving struct {
	fake
	err error
}

func (l *leaving) Shutdown(context.Context) error { return l.err }

// A shutdown has the outcome of a release, which the workload must see.
func TestShutdown(t *testing.T) {
	l := &leaving{err: fmt.Errorf("release stock: %w", lock.ErrUnknown)}
	c := converse(t, l)
	if err := c.Shutdown(t.Context()); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("got %v, want %v", err, lock.ErrUnknown)
	}
	l.err = nil
	if err := c.Shutdown(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
}

// A cancelled call must end the lock's own context, and return the lock's outcome. If it
// returned sooner, an outcome that is known would be called unknown.
func TestCancel(t *testing.T) {
	f := &fake{}
	begun, go1 := make(chan bool, 1), make(chan bool)
	f.of("stock", "1").acquire = func(ctx context.Context, _ lock.Acquire, _ bool) (lock.Grant, error) {
		begun <- ctx.Err() != nil
		<-ctx.Done()
		<-go1
		return lock.Grant{}, errors.Join(ctx.Err(), lock.ErrUnknown)
	}
	l := converse(t, f).Locker("stock", "1")
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := l.Lock(ctx)
		got <- err
	}()
	if await(t, begun) {
		t.Error("the context had ended before the call")
	}
	cancel()
	go1 <- true
	if err := await(t, got); !errors.Is(err, context.Canceled) || !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	// A context that has ended before must not be a race that the lock may win.
	go func() {
		_, err := l.TryLock(ctx)
		got <- err
	}()
	if !await(t, begun) {
		t.Error("the lock was called with a context that had not ended")
	}
	go1 <- true
	await(t, got)
	// A deadline is the caller's own error again.
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	go func() { await(t, begun); go1 <- true }()
	if _, err := l.TryLock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after a deadline: %v", err)
	}
}

// Two threads of a process must not wait for each other, nor share a loss.
func TestThreadsAtOnce(t *testing.T) {
	f := &fake{}
	release := make(chan bool)
	f.of("stock", "1").acquire = func(context.Context, lock.Acquire, bool) (lock.Grant, error) {
		<-release
		return lock.Grant{}, lock.ErrBusy
	}
	c := converse(t, f)
	got := make(chan error, 1)
	go func() {
		_, err := c.Locker("stock", "1").TryLock(t.Context())
		got <- err
	}()
	two := c.Locker("stock", "2")
	if _, err := two.TryLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.of("stock", "2").lose()
	await(t, two.Lost())
	close(release)
	if err := await(t, got); !errors.Is(err, lock.ErrBusy) {
		t.Error(err)
	}
	if c.Locker("stock", "1").Lost() != nil {
		t.Error("a thread that holds nothing has something to lose")
	}
}

// A loss must reach the holder whose hold it is, and no later one; a release
// is no loss.
func TestLost(t *testing.T) {
	f := &fake{}
	l := converse(t, f).Locker("stock", "1")
	if l.Lost() != nil {
		t.Error("nothing is held, and can be lost")
	}
	lock1 := func() <-chan struct{} {
		t.Helper()
		if _, err := l.TryLock(t.Context()); err != nil {
			t.Fatal(err)
		}
		return l.Lost()
	}
	first := lock1()
	if _, err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.of("stock", "1").lose()
	second := lock1()
	must.Succeed(t, l.Settle(t.Context()))
	select {
	case <-first:
		t.Error("a released hold is told to be lost")
	case <-second:
		t.Error("a hold is told to be lost for the one before")
	default:
	}
	f.of("stock", "1").lose()
	await(t, second)
	third := lock1()
	f.of("stock", "1").lose()
	must.Succeed(t, l.Settle(t.Context()))
	select {
	case <-third:
	default:
		t.Error("the process knew of a loss, and Settle did not bring it")
	}
	f.of("stock", "1").hold()
	f.of("stock", "1").release = func(context.Context) (int, error) { return 0, lock.ErrLost }
	fourth := lock1()
	if _, err := l.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Fatal(err)
	}
	await(t, fourth)
	if l.Lost() != nil {
		t.Error("nothing is held any more")
	}
}

// The outer hold's loss must be reported although nested holds came and went.
func TestLostWhileNested(t *testing.T) {
	f := &fake{}
	n, fl := 0, f.of("stock", "1")
	fl.acquire = func(context.Context, lock.Acquire, bool) (lock.Grant, error) {
		if n++; n == 1 {
			fl.hold()
		}
		return lock.Grant{Count: n}, nil
	}
	fl.release = func(context.Context) (int, error) { n--; return n, nil }
	l := converse(t, f).Locker("stock", "1")
	var lost []<-chan struct{}
	for range 2 {
		if _, err := l.TryLock(t.Context()); err != nil {
			t.Fatal(err)
		}
		lost = append(lost, l.Lost())
	}
	if lost[0] != lost[1] {
		t.Error("a nested hold is lost apart from the outer one")
	}
	if _, err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	fl.lose()
	await(t, lost[0])
}

// A shutdown in the middle of work closes the lock and nothing else, once; the
// finish tells what the lock left running.
func TestCloseAndFinish(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	f := &fake{onDisc: func() { go abandoned(stop) }}
	c := converse(t, f)
	if err := c.CloseLock(t.Context()); err != nil || f.closed != 1 || f.cut != 0 {
		t.Errorf("close: %v, closed %d times, disconnected %d times", err, f.closed, f.cut)
	}
	left, err := c.Finish(bounded(t))
	if err != nil || f.closed != 1 || f.cut != 1 {
		t.Errorf("finish: %v, closed %d times, disconnected %d times", err, f.closed, f.cut)
	}
	if len(left) != 1 || !strings.Contains(left[0], "adapter.abandoned") {
		t.Errorf("left over: %q", left)
	}
	f.onDisc = nil
	if _, err := c.Locker("stock", "1").TryLock(t.Context()); err != nil {
		t.Errorf("the process did not live on: %v", err)
	}
}

func abandoned(stop chan struct{}) { <-stop }

// An error of closing is a finding about the lock, not the end of the process.
func TestCloseFails(t *testing.T) {
	f := &fake{closeErr: lock.ErrUnknown}
	c := converse(t, f)
	for range 2 {
		if err := c.CloseLock(t.Context()); !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := c.Finish(bounded(t)); !errors.Is(err, lock.ErrUnknown) || f.closed != 1 {
		t.Errorf("finish: %v, closed %d times", err, f.closed)
	}
}

// The process must learn all it needs, and its lock's name reach the report.
func TestHello(t *testing.T) {
	want := Hello{
		Process: "client-1", Lock: "reentrant", Seed: 1<<64 - 1, LeaseNS: 2e9, PollNS: 5, Replicas: 2,
		Redis: Access{Sentinels: []string{"127.0.0.1:1"}, Masters: []string{"group-1"}, Map: map[string]string{"a": "b"}, TimeScale: 0.2},
	}
	var got Hello
	c, served := connect(t, func(h Hello) (Lock, error) { got = h; return &fake{}, nil })
	ready, err := c.Hello(t.Context(), want)
	want.Protocol = Protocol
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if want := (Ready{Protocol: Protocol, Name: "fake", Version: "1.2"}); ready != want {
		t.Errorf("ready: %+v", ready)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := await(t, served); err != nil {
		t.Errorf("a process that was told to stop: %v", err)
	}
	await(t, c.Ended())
	if err := c.Err(); !errors.Is(err, ErrEnded) {
		t.Errorf("the conversation ended with %v", err)
	}
}

// A lock that cannot be opened must say why to the user of the harness.
func TestOpenFails(t *testing.T) {
	c, served := connect(t, func(Hello) (Lock, error) { return nil, errors.New(`unknown lock "x"`) })
	if _, err := c.Hello(t.Context(), Hello{Lock: "x"}); err == nil || !strings.Contains(err.Error(), `unknown lock "x"`) {
		t.Errorf("hello: %v", err)
	}
	if err := await(t, served); err == nil {
		t.Error("the process ends as if all were well")
	}
}
