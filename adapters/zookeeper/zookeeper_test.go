package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/live"
	"github.com/holdfast-go/holdfast/live/servers"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/subject/adapter"
)

// asAdapter makes the test binary the adapter, asHarness a harness that starts
// servers and waits to be killed.
const asAdapter, asHarness = "HOLDFAST_ZOOKEEPER_TEST_ADAPTER", "HOLDFAST_ZOOKEEPER_TEST_HARNESS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asHarness); dir != "" {
		os.Exit(harness(dir))
	}
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

func ensembleOf(ctx context.Context, dir string, clients int) (*live.World, error) {
	return live.NewWorld(ctx, live.WorldOptions{
		Options:  servers.Options{Backend: servers.Backend{Bundled: servers.Bundle([]string{os.Args[0]}, locks()[0].Servers)}, Clients: clients, Dir: dir},
		LockKeys: []string{"stock"},
	})
}

func join(ctx context.Context, w *live.World, n int) (*adapter.Conversation, error) {
	name := fmt.Sprintf("client-%d", n)
	access, err := w.Access(name)
	if err != nil {
		return nil, err
	}
	p, err := w.StartProcess(ctx, name, []string{os.Args[0]}, nil)
	if err != nil {
		return nil, err
	}
	if err := w.Add(name, p); err != nil {
		return nil, err
	}
	_, err = p.Conversation().Hello(ctx, adapter.Hello{Process: name, Lock: fenced, LeaseNS: int64(20 * time.Second), Redis: access})
	return p.Conversation(), err
}

func TestDescriptions(t *testing.T) {
	for _, d := range locks() {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Two owners take turns with tokens that grow, a hold outlives the leader, and
// what is left when all is over is nothing.
func TestTurnsAndLeaders(t *testing.T) {
	needs(t)
	w, err := ensembleOf(t.Context(), t.TempDir(), 2)
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
	first, err := join(t.Context(), w, 1)
	must.Succeed(t, err)
	second, err := join(t.Context(), w, 2)
	must.Succeed(t, err)
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

func harness(dir string) int {
	os.Unsetenv(asHarness)
	os.Setenv(asAdapter, "1")
	w, err := ensembleOf(context.Background(), dir, 1)
	if err == nil {
		var c *adapter.Conversation
		if c, err = join(context.Background(), w, 1); err == nil {
			_, err = c.Locker("stock", "1").TryLock(context.Background())
		}
	}
	fmt.Println("ready", err)
	time.Sleep(time.Minute)
	return 0
}

// A harness that is killed leaves no process, whoever started it.
func TestNothingOutlivesAHarnessThatIsKilled(t *testing.T) {
	needs(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asHarness+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	all := below(cmd.Process.Pid)
	if err != nil || strings.TrimSpace(line) != "ready <nil>" || len(all) < 7 {
		t.Fatalf("the harness says %q, %v, and has started %v", line, err, all)
	}
	must.Succeed(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it should be
	deadline := time.Now().Add(10 * time.Second)
	for _, pid := range all {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// below are the processes that a process has started, and theirs.
func below(pid int) []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l)
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(append(all, child), below(child)...)
			}
		}
	}
	return all
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
