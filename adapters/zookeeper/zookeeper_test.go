package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
)

// asAdapter makes the test binary the adapter. A test of cmd/holdfast kills a
// harness of this adapter.
const asAdapter = "HOLDFAST_ZOOKEEPER_TEST_ADAPTER"

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

// needs skips where the server is not installed. CI has it.
func needs(t *testing.T) {
	t.Helper()
	if why := missing(); why != "" {
		if os.Getenv("HOLDFAST_REQUIRE_ZOOKEEPER") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
}

func join(t *testing.T, w *live.World, n int) *adapter.Conversation {
	t.Helper()
	name := fmt.Sprintf("client-%d", n)
	access, err := w.Access(name)
	must.Succeed(t, err)
	p, err := w.StartProcess(t.Context(), name, []string{os.Args[0]}, nil)
	must.Succeed(t, err)
	must.Succeed(t, w.Add(name, p))
	_, err = p.Conversation().Hello(t.Context(), adapter.Hello{Process: name, Lock: fenced, LeaseNS: int64(20 * time.Second), Redis: access})
	must.Succeed(t, err)
	return p.Conversation()
}

func TestDescriptions(t *testing.T) {
	for _, d := range describe() {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Two owners take turns with tokens that grow, a hold outlives the leader, and
// what is left when all is over is nothing.
func TestTurnsAndLeaders(t *testing.T) {
	needs(t)
	w, err := live.NewWorld(t.Context(), live.WorldOptions{
		Options:  servers.Options{Backend: servers.Backend{Bundled: servers.Bundle([]string{os.Args[0]}, describe()[0].Servers)}, Clients: 2, Dir: t.TempDir()},
		LockKeys: []string{"stock"},
	})
	must.Succeed(t, err)
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	leads := func(want string) {
		t.Helper()
		if got := w.Primary(1); got != want {
			t.Errorf("%s leads, want %s", got, want)
		}
	}
	leads("node-1")
	first, second := join(t, w, 1), join(t, w, 2)
	one, two := first.Locker("stock", "1"), second.Locker("stock", "1")
	g, err := one.TryLock(t.Context())
	must.Succeed(t, err)
	if _, err := two.TryLock(t.Context()); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("one try on a lock that is held: %v", err)
	}
	if _, err := two.TryLock(t.Context(), lock.Wait(200*time.Millisecond)); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("a wait that runs out: %v", err)
	}
	for _, to := range []string{"node-1-replica-1", "node-1-replica-2"} {
		if n := w.Connections(faults.Link{From: to, To: "node-1"}) + w.Connections(faults.Link{From: "node-1", To: to}); n == 0 {
			t.Errorf("node-1 and %s do not talk through the proxy", to)
		}
	}
	must.Succeed(t, w.StopNode("node-1"))
	must.Succeed(t, w.Promote("node-1-replica-1"))
	leads("node-1-replica-1")
	if n, err := one.HoldCount(t.Context()); n != 1 || err != nil {
		t.Errorf("under another leader it is held %d times, %v", n, err)
	}
	must.Succeed(t, w.StartNode("node-1", true))
	must.Succeed(t, w.Follow("node-1"))
	_, err = one.Unlock(t.Context())
	must.Succeed(t, err)
	later, err := two.Lock(t.Context())
	must.Succeed(t, err)
	if later.Token <= g.Token {
		t.Errorf("the token after %d is %d", g.Token, later.Token)
	}
	must.Succeed(t, w.DeleteLock("node-1-replica-1"))
	if _, err := two.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("what was taken away is released: %v", err)
	}
	for _, c := range []*adapter.Conversation{first, second} {
		if left, err := c.Finish(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("at the end: %v, %q", err, left)
		}
	}
	if keys, err := w.Keys(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("the servers hold %v, %v", keys, err)
	}
}
