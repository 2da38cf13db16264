package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// asAdapter makes the test binary the adapter, asHarness a harness that starts
// servers and waits to be killed.
const asAdapter, asHarness = "HOLDFAST_SQL_TEST_ADAPTER", "HOLDFAST_SQL_TEST_HARNESS"

func TestMain(m *testing.M) {
	if base := os.Getenv(asHarness); base != "" {
		os.Exit(harness(base))
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

// needs skips where the servers are not installed. CI has both.
func needs(t *testing.T, base *database) {
	t.Helper()
	if why := base.missing(); why != "" {
		if os.Getenv("HOLDFAST_REQUIRE_"+strings.ToUpper(base.name)) != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
}

func described(t *testing.T, name string) locks.Description {
	t.Helper()
	for _, d := range describe() {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("there is no lock %q", name)
	return locks.Description{}
}

// world starts a primary and a replica.
func world(t *testing.T, base *database, clients int) *live.World {
	t.Helper()
	needs(t, base)
	d := described(t, base.name+"-"+row)
	exe, err := os.Executable()
	must.Succeed(t, err)
	w, err := live.NewWorld(t.Context(), live.WorldOptions{
		Options:  servers.Options{Backend: servers.Backend{Bundled: servers.Bundle([]string{exe}, d.Servers)}, Clients: clients, Dir: t.TempDir()},
		LockKeys: []string{"stock"},
	})
	must.Succeed(t, err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// lease is the lease of the locks here.
const lease = 2 * time.Second

// join starts a client process.
func join(t *testing.T, w *live.World, n int, lockName string) *adapter.Conversation {
	t.Helper()
	name := fmt.Sprintf("client-%d", n)
	access, err := w.Access(name)
	must.Succeed(t, err)
	p, err := w.StartProcess(t.Context(), name, []string{os.Args[0]}, nil)
	must.Succeed(t, err)
	must.Succeed(t, w.Add(name, p))
	if _, err := p.Conversation().Hello(t.Context(), adapter.Hello{Process: name, Lock: lockName, LeaseNS: int64(lease), Redis: access}); err != nil {
		t.Fatal(err)
	}
	return p.Conversation()
}

func TestDescriptions(t *testing.T) {
	if len(describe()) != 12 {
		t.Errorf("there are %d locks", len(describe()))
	}
	for _, d := range describe() {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		if _, _, _, err := parse(d.Name); err != nil {
			t.Error(err)
		}
	}
}

// Two owners take turns with every kind of lock, and what is left is nothing.
func TestTurns(t *testing.T) {
	for _, base := range databases {
		t.Run(base.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			var names []string
			for _, d := range describe() {
				if strings.HasPrefix(d.Name, base.name) {
					names = append(names, d.Name)
				}
			}
			w := world(t, base, 2*len(names))
			for _, name := range names {
				one, two := join(t, w, n+1, name), join(t, w, n+2, name)
				n += 2
				turns(t, name, w, one, two)
			}
		})
	}
}

// eventually waits for a change without a notice.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func turns(t *testing.T, name string, w *live.World, first, second *adapter.Conversation) {
	t.Helper()
	one, two := first.Locker("stock", "1"), second.Locker("stock", "1")
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %s: %v", name, what, err)
		}
	}
	g, err := one.TryLock(t.Context())
	check("one try", err)
	if _, err := two.TryLock(t.Context()); !errors.Is(err, lock.ErrBusy) {
		t.Errorf("%s: one try on a lock that is held: %v", name, err)
	}
	if _, err := two.TryLock(t.Context(), lock.Wait(200*time.Millisecond)); !errors.Is(err, lock.ErrBusy) && !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("%s: a wait that runs out: %v", name, err)
	}
	if n, err := one.HoldCount(t.Context()); n != 1 || err != nil {
		t.Errorf("%s: held %d times, %v", name, n, err)
	}
	granted := make(chan error, 1)
	var later lock.Grant
	go func() {
		var err error
		later, err = two.Lock(t.Context())
		granted <- err
	}()
	_, err = one.Unlock(t.Context())
	check("release", err)
	check("wait", <-granted)
	if g.Token > 0 && later.Token <= g.Token {
		t.Errorf("%s: the token after %d is %d", name, g.Token, later.Token)
	}
	if _, err := one.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("%s: what is not held is released: %v", name, err)
	}
	if keys, err := w.Keys(t.Context()); err != nil || len(keys) == 0 {
		t.Errorf("%s: the servers hold %v, %v", name, keys, err)
	}
	check("delete", w.DeleteLock("node-1"))
	if n, err := two.HoldCount(t.Context()); n != 0 || err != nil {
		t.Errorf("%s: was taken away, and is held %d times, %v", name, n, err)
	}
	if _, err := two.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("%s: what was taken away is released: %v", name, err)
	}
	for _, c := range []*adapter.Conversation{first, second} {
		if left, err := c.Finish(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("%s: at the end: %v, %q", name, err, left)
		}
	}
	// A session that was ended by force takes the server a moment.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		keys, err := w.Keys(t.Context())
		if err == nil && len(keys) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: the servers hold %v, %v", name, keys, err)
		}
	}
}

// A replica takes over: a row that had reached it is there, one that had not is
// lost, and no session comes along.
func TestFailover(t *testing.T) {
	for _, base := range databases {
		t.Run(base.name, func(t *testing.T) {
			t.Parallel()
			w := world(t, base, 2)
			c := join(t, w, 1, base.name+"-"+row)
			kept, lost := c.Locker("kept", "1"), c.Locker("lost", "1")
			_, err := lost.TryLock(t.Context()) // so that its row is there
			must.Succeed(t, err)
			_, err = lost.Unlock(t.Context())
			must.Succeed(t, err)
			_, err = kept.TryLock(t.Context(), lock.Lease(time.Minute))
			must.Succeed(t, err)
			if n := w.Connections(faults.Link{From: "node-1-replica-1", To: "node-1"}); n == 0 {
				t.Error("the replica does not follow through the proxy")
			}
			time.Sleep(500 * time.Millisecond) // until it has arrived: there is no notice
			heal, err := w.Cut("node-1-replica-1", "node-1")
			must.Succeed(t, err)
			_, err = lost.TryLock(t.Context(), lock.Lease(time.Minute))
			must.Succeed(t, err)
			must.Succeed(t, w.StopNode("node-1"))
			must.Succeed(t, w.Promote("node-1-replica-1"))
			heal() // what was on its way arrives now
			if got := w.Primary(1); got != "node-1-replica-1" {
				t.Errorf("%s leads", got)
			}
			must.Succeed(t, w.StartNode("node-1", true))
			must.Succeed(t, w.Follow("node-1"))
			// A server that stops or hands over ends its connections, which a client
			// finds out when it uses one.
			holds := func(l *adapter.Locker, want int) {
				eventually(t, "the server that leads now is asked", func() error {
					if n, err := l.HoldCount(t.Context()); err != nil || n != want {
						return fmt.Errorf("held %d times, %w, want %d", n, err, want)
					}
					return nil
				})
			}
			holds(kept, 1)
			holds(lost, 0)
			must.Succeed(t, w.HandOver("node-1"))
			holds(kept, 1)
		})
	}
}

// harness starts servers and a client that holds the lock.
func harness(name string) int {
	os.Unsetenv(asHarness)
	os.Setenv(asAdapter, "1")
	var d locks.Description
	for _, l := range describe() {
		if l.Name == name {
			d = l
		}
	}
	w, err := live.NewWorld(context.Background(), live.WorldOptions{Options: servers.Options{
		Backend: servers.Backend{Bundled: servers.Bundle([]string{os.Args[0]}, d.Servers)}, Clients: 1, Dir: os.Getenv("DIR"),
	}})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	access, err := w.Access("client-1")
	if err == nil {
		var p interface{ Conversation() *adapter.Conversation }
		p, err = w.StartProcess(context.Background(), "client-1", []string{os.Args[0]}, nil)
		if err == nil {
			_, err = p.Conversation().Hello(context.Background(), adapter.Hello{Process: "client-1", Lock: name, LeaseNS: int64(time.Minute), Redis: access})
		}
		if err == nil {
			_, err = p.Conversation().Locker("stock", "1").TryLock(context.Background())
		}
	}
	fmt.Println("ready", err)
	time.Sleep(time.Minute)
	return 0
}

// A harness that is killed leaves neither a process of its own or of a server, nor shared
// memory.
func TestNothingOutlivesAHarnessThatIsKilled(t *testing.T) {
	for _, base := range databases {
		t.Run(base.name, func(t *testing.T) {
			t.Parallel()
			needs(t, base)
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asHarness+"="+base.name+"-for-update", "DIR="+dir)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			must.Succeed(t, err)
			line, err := bufio.NewReader(out).ReadString('\n')
			all := below(cmd.Process.Pid)
			if err != nil || strings.TrimSpace(line) != "ready <nil>" || len(all) < 4 {
				t.Fatalf("the harness says %q, %v, and has started %v", line, err, all)
			}
			memory := segments(t, all)
			if base == postgres && len(memory) == 0 {
				t.Error("PostgreSQL's shared memory is not found")
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
			for id, lasting := range memory {
				if lasting {
					t.Errorf("shared memory %s is not marked to go", id)
				}
			}
		})
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

// segments are those of shared memory that some processes have made. The value says
// whether a segment stays when no process has it any more.
func segments(t *testing.T, makers []int) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	must.Succeed(t, err)
	all := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n")[1:] {
		if f := strings.Fields(line); len(f) > 7 {
			maker, _ := strconv.Atoi(f[4])
			if !slices.Contains(makers, maker) {
				continue
			}
			perms, _ := strconv.ParseInt(f[2], 8, 64)
			all[f[1]] = perms&0o1000 == 0 // SHM_DEST
		}
	}
	return all
}
