package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
)

// asAdapter makes the test binary the adapter.
const asAdapter = "HOLDFAST_ETCD_TEST_ADAPTER"

func TestMain(m *testing.M) {
	if os.Getenv(asAdapter) == "" {
		os.Setenv(asAdapter, "1") // of what it starts
		os.Exit(m.Run())
	}
	if err := program().Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	return exe
}

// start starts the members, and so many clients of a lock.
func start(t *testing.T, lockName string, clients int) (*live.World, []*adapter.Conversation) {
	t.Helper()
	bundled := &servers.BundledServers{Command: []string{self(t), serveRole}, Members: members}
	w, err := live.NewWorld(t.Context(), live.WorldOptions{
		Options:  servers.Options{Backend: servers.Backend{Bundled: bundled}, Clients: clients, Dir: t.TempDir()},
		LockKeys: []string{"stock"},
	})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	var all []*adapter.Conversation
	for n := 1; n <= clients; n++ {
		name := fmt.Sprintf("client-%d", n)
		access, err := w.Access(name)
		must.Succeed(t, err)
		p, err := w.StartProcess(t.Context(), name, []string{self(t)}, nil)
		must.Succeed(t, err)
		must.Succeed(t, w.Add(name, p))
		if _, err := p.Conversation().Hello(t.Context(), adapter.Hello{Process: name, Lock: lockName, LeaseNS: int64(2 * time.Second), Redis: access}); err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Conversation())
	}
	return w, all
}

func TestDescriptions(t *testing.T) {
	for _, d := range describe() {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Two owners take turns, in order, with tokens that grow; what is left when
// all is over is nothing.
func TestTurns(t *testing.T) {
	w, clients := start(t, fenced, 2)
	one, two := clients[0].Locker("stock", "1"), clients[1].Locker("stock", "1")
	first, err := one.TryLock(t.Context())
	if err != nil || first.Count != 1 || first.Token == 0 || first.Lease != 2*time.Second {
		t.Fatalf("granted %+v, %v", first, err)
	}
	if _, err := two.TryLock(t.Context()); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("one try on a lock that is held: %v", err)
	}
	if _, err := two.TryLock(t.Context(), lock.Wait(200*time.Millisecond)); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("a wait that runs out: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := two.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lock.ErrUnknown) {
		t.Errorf("a wait that is cancelled: %v", err)
	}
	if keys, err := w.Keys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("the servers hold %v, %v: no more than the hold is wanted", keys, err)
	}
	if n, err := one.HoldCount(t.Context()); n != 1 || err != nil {
		t.Errorf("held %d times, %v", n, err)
	}
	granted := make(chan lock.Grant, 1)
	go func() {
		g, _ := two.Lock(t.Context())
		granted <- g
	}()
	if _, err := one.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := <-granted; g.Token <= first.Token {
		t.Errorf("the token after %d is %d", first.Token, g.Token)
	}
	if _, err := one.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("what is not held is released: %v", err)
	}
	for _, c := range clients {
		if left, err := c.Finish(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("at the end: %v, %q", err, left)
		}
	}
	if keys, err := w.Keys(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("the servers hold %v, %v", keys, err)
	}
}

// The members elect one of them when the leader is gone, and a hold stays; a
// member that is cut off cannot lead.
func TestLeaders(t *testing.T) {
	w, clients := start(t, plain, 1)
	l := clients[0].Locker("stock", "1")
	if _, err := l.TryLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	leads := func(want string) {
		t.Helper()
		if got := w.Primary(1); got != want {
			t.Errorf("%s leads, want %s", got, want)
		}
	}
	leads("node-1")
	if want := []string{"node-1", "node-1-replica-1", "node-1-replica-2"}; !slices.Equal(w.Nodes(), want) {
		t.Errorf("the members are %q", w.Nodes())
	}
	must.Succeed(t, w.StopNode("node-1"))
	must.Succeed(t, w.Promote("node-1-replica-2"))
	leads("node-1-replica-2")
	must.Succeed(t, w.StartNode("node-1", true))
	must.Succeed(t, w.Follow("node-1"))
	must.Succeed(t, w.HandOver("node-1"))
	leads("node-1")
	for _, to := range []string{"node-1-replica-1", "node-1-replica-2"} {
		if n := w.Connections(faults.Link{From: "node-1", To: to}) + w.Connections(faults.Link{From: to, To: "node-1"}); n == 0 {
			t.Errorf("node-1 and %s do not talk through the proxy", to)
		}
	}
	must.Succeed(t, w.Promote("node-1-replica-1"))
	leads("node-1-replica-1")
	must.Succeed(t, w.Follow("node-1"))
	if n, err := l.HoldCount(t.Context()); n != 1 || err != nil {
		t.Errorf("after all that the lock is held %d times, %v", n, err)
	}
	if err := w.StartNode("node-1", false); err == nil {
		t.Error("a member was started without what it had agreed to")
	}
}

// The session lives, and does not report a hold whose key is gone: the Mutex does not
// look. It reports the end of the session.
func TestLost(t *testing.T) {
	w, clients := start(t, plain, 2)
	l := clients[0].Locker("stock", "1")
	if _, err := l.TryLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, w.DeleteLock("node-1"))
	if _, err := clients[1].Locker("stock", "1").TryLock(t.Context()); err != nil {
		t.Errorf("the key was deleted, and another is refused: %v", err)
	}
	if n, err := l.HoldCount(t.Context()); n != 0 || err != nil {
		t.Errorf("held %d times, %v", n, err)
	}
	must.Succeed(t, w.Pause("client-1"))
	time.Sleep(3500 * time.Millisecond) // the lease of two seconds, and its revocation
	must.Succeed(t, w.Resume("client-1"))
	select {
	case <-l.Lost():
	case <-time.After(5 * time.Second):
		t.Error("a holder that was paused past its lease is not told")
	}
	if _, err := l.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("released: %v", err)
	}
}
