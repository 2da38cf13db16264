package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/lock"
)

// workerRole makes the test binary a client process with the reference lock.
const workerRole = "HOLDFAST_LIVE_TEST_WORKER"

func playClient(string) int {
	err := adapter.Serve(context.Background(), os.Stdin, os.Stdout, adapter.Program{Open: func(h adapter.Hello) (adapter.Lock, error) {
		rdb := h.Redis.Client(1)
		c, err := lock.New(rdb, lock.WithID(h.Process), lock.WithWatchdogTimeout(time.Duration(h.LeaseNS)))
		return reference{c, rdb, h.Process}, err
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// reference is the reference lock in a client process.
type reference struct {
	*lock.Client
	rdb redis.UniversalClient
	id  string
}

func (r reference) Locker(name, thread string) (lock.Locker, error) {
	return r.NewLock(name, thread), nil
}
func (r reference) Identity(thread string) string { return r.id + ":" + thread }
func (r reference) Disconnect() error             { return r.rdb.Close() }

// startWorker starts a client's process.
func startWorker(t *testing.T, w *World, client string) *processes.Process {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	p, err := w.StartProcess(t.Context(), client, []string{exe}, []string{workerRole + "=1"})
	check(t, err)
	return p
}

// openWorker starts a process with the reference lock open.
func openWorker(t *testing.T, w *World, client string, lease time.Duration) *processes.Process {
	t.Helper()
	p := startWorker(t, w, client)
	a, err := w.Access(client)
	check(t, err)
	_, err = p.Conversation().Hello(shortly(t), adapter.Hello{Process: client, Lock: "reentrant", LeaseNS: lease.Nanoseconds(), Redis: a})
	check(t, err)
	return p
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), livetest.Limit)
	t.Cleanup(cancel)
	return ctx
}

// The whole way: two processes, one lock, a real server, and nothing left
// behind when they have finished.
func TestProcessesShareALock(t *testing.T) {
	t.Parallel()
	s := openWorld(t, WorldOptions{Options: servers.Options{Clients: 2, Groups: 1}})
	one, two := openWorker(t, s, "client-1", 5*time.Second), openWorker(t, s, "client-2", 5*time.Second)
	first, second := one.Conversation().Locker("stock", "1"), two.Conversation().Locker("stock", "1")
	g, err := first.TryLock(t.Context())
	check(t, err)
	if g.Count != 1 || !g.Renewed {
		t.Errorf("granted %+v", g)
	}
	id, err := one.Conversation().Identity(t.Context(), "1")
	check(t, err)
	if hash := admin(t, s, "node-1").HGetAll(t.Context(), "stock").Val(); hash[id] != "1" {
		t.Errorf("the server says %q, the process calls itself %q", hash, id)
	}
	if _, err := second.TryLock(t.Context()); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("the other one: %v", err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := second.Lock(t.Context())
		waits <- err
	}()
	_, err = first.Unlock(t.Context())
	check(t, err)
	check(t, <-waits)
	if n, err := second.HoldCount(t.Context()); err != nil || n != 1 {
		t.Errorf("held %d times, %v", n, err)
	}
	_, err = second.Unlock(t.Context())
	check(t, err)
	for _, p := range []*processes.Process{one, two} {
		left, err := p.Conversation().Finish(shortly(t))
		check(t, err)
		if len(left) > 0 {
			t.Errorf("%s leaves %d goroutines:\n%s", p.Name(), len(left), strings.Join(left, "\n\n"))
		}
		eventually(t, "its connections are closed", func() bool {
			return s.Connections(faults.Link{From: p.Name(), To: "node-1"}) == 0
		})
		check(t, p.Stop(shortly(t)))
		if err := p.Err(); err != nil {
			t.Errorf("a process that was told to stop: %v", err)
		}
	}
}

// A paused holder must do nothing at all, not even renew, and know when it goes
// on that it has lost the lock.
func TestPausedProcessLosesItsLock(t *testing.T) {
	t.Parallel()
	s := openWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}})
	p := openWorker(t, s, "client-1", 600*time.Millisecond)
	l := p.Conversation().Locker("stock", "1")
	_, err := l.TryLock(t.Context())
	check(t, err)
	lost := l.Lost()
	check(t, p.Pause())
	if !p.Paused() {
		t.Error("the gate is open when Pause returned")
	}
	eventually(t, "the lease runs out", func() bool { return admin(t, s, "node-1").Exists(t.Context(), "stock").Val() == 0 })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Settle(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused process answers: %v", err)
	}
	check(t, p.Resume())
	check(t, l.Settle(shortly(t)))
	select {
	case <-lost:
	default:
		t.Error("it goes on, and believes that it holds the lock")
	}
	if !p.Gate() {
		t.Error("it has crashed")
	}
}

// A crash must fail the operation under way at once and leave the outcome
// open, and must not be taken for the lock's own doing.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	s := openWorld(t, WorldOptions{Options: servers.Options{Clients: 2, Groups: 1}})
	holder, waiter := openWorker(t, s, "client-1", time.Minute), openWorker(t, s, "client-2", time.Minute)
	_, err := holder.Conversation().Locker("stock", "1").TryLock(t.Context())
	check(t, err)
	got := make(chan error, 1)
	go func() {
		_, err := waiter.Conversation().Locker("stock", "1").Lock(context.Background())
		got <- err
	}()
	check(t, waiter.Pause())
	check(t, waiter.Kill())
	check(t, waiter.Kill())
	if err := <-got; !errors.Is(err, adapter.ErrEnded) || !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("the operation under way: %v", err)
	}
	if err := waiter.Wait(shortly(t)); err != nil || !waiter.Crashed() || waiter.Gate() {
		t.Errorf("after the crash: %v, crashed: %v", err, waiter.Crashed())
	}
	if err := waiter.Pause(); err == nil {
		t.Error("a process that is gone was paused")
	}
}

// Only the clients of a world have a process, each one of them, and it ends
// with the world.
func TestProcessesOfAWorld(t *testing.T) {
	t.Parallel()
	s := openWorld(t, WorldOptions{Options: servers.Options{Clients: 1, Groups: 1}})
	p := startWorker(t, s, "client-1")
	if _, err := s.StartProcess(t.Context(), "client-1", []string{"true"}, nil); err == nil {
		t.Error("a client was started twice")
	}
	if _, err := s.StartProcess(t.Context(), "client-9", []string{"true"}, nil); err == nil {
		t.Error("a client that does not exist was started")
	}
	check(t, s.Close())
	if err := p.Wait(shortly(t)); err != nil {
		t.Errorf("a process that was closed with its world: %v", err)
	}
}
