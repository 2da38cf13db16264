package locktest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// deadlocked is the environment variable that makes TestDeadlocked play a lock
// whose owners share a mutex, and hold it while they wait for the network.
const deadlocked = "LOCKTEST_DEADLOCKED"

// TestDeadlocked runs below TestAStallFailsAlone.
func TestDeadlocked(t *testing.T) {
	if os.Getenv(deadlocked) == "" {
		return // not asked for
	}
	detector.Most = 2 * time.Second
	var shared sync.Mutex
	Run(t, Lock{
		Claims: Claims{Waits: true, Cancels: true, Lease: true}, Busy: errors.New("taken"),
		New: func(c *Client, name, owner string) lock.Locker {
			ask := func(ctx context.Context) error {
				shared.Lock()
				defer shared.Unlock()
				for range 300 {
					c.Redis.Ping(ctx)
				}
				return ctx.Err()
			}
			return &Funcs{Acquire: ask, Release: ask}
		},
	}, Scenarios("contention", "slow-holder"), User("careless"))
}

// A lock that deadlocks fails the subtest that shows it, with the stack of who
// waits for the mutex, and of who holds it. The next subtest is played.
func TestAStallFailsAlone(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestDeadlocked$", "-test.v")
	cmd.Env = append(os.Environ(), deadlocked+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nothing failed:\n%s", out)
	}
	for _, want := range []string{
		"--- FAIL: TestDeadlocked/contention", "=== RUN   TestDeadlocked/slow-holder", "waits for a mutex, or runs:\n",
		"sync.(*Mutex).Lock", "waits for the network, and may hold the mutex:\n", "again:  HOLDFAST_SEED=1",
	} {
		if !strings.Contains(strings.ReplaceAll(string(out), "\n        ", "\n"), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// TestStalls runs below TestExhaustStopsAfterStalls.
func TestStalls(t *testing.T) {
	if os.Getenv(deadlocked) == "" {
		return // not asked for
	}
	var shared sync.Mutex
	taken := errors.New("taken")
	Exhaust(t, Lock{
		Claims: Claims{Waits: true, Cancels: true, Lease: true}, Busy: taken,
		New: func(c *Client, name, owner string) lock.Locker {
			take := func(ctx context.Context) error {
				shared.Lock()
				defer shared.Unlock()
				if ok, err := c.Redis.SetNX(ctx, name, owner, c.Lease).Result(); err != nil || ok {
					return err
				}
				return taken
			}
			return &Funcs{Acquire: take, Try: take, Release: func(ctx context.Context) error { return c.Redis.Del(ctx, name).Err() }}
		},
	}, Base("two-tries"), Faults("hold-reply"))
}

// A lock that stalls under some fault stalls under it at many moments. The user learns of
// the first at once, and need not wait for all of them.
func TestExhaustStopsAfterStalls(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestStalls$", "-test.v")
	cmd.Env = append(os.Environ(), deadlocked+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nothing failed:\n%s", out)
	}
	at := 0
	for _, want := range []string{
		"locktest: a run stalls. Exhaust stops after 3 of them. The first is two-tries-", ": hold-reply of client-", "a goroutine waits for a mutex, or runs:\n",
		"stall_test.go", "for the network, and may hold the mutex:\n\tgithub.com/redis/go-redis/v9.", "Exhaust stopped after ", "because 3 of them stalled",
		"Release the mutex of the lock before it waits for the network.", "--- FAIL: TestStalls/progress_hold-reply",
	} {
		i := strings.Index(string(out)[at:], want)
		if i < 0 {
			t.Errorf("it does not say %q in its place:\n%s", want, out)
			continue
		}
		at += i
	}
}
