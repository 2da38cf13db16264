package locktest_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/queues"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/zsetqueue"
)

// A lock may use all of Redis: one that waits in BLPOP, and one that lives in a
// sorted set, keep what they promise.
func TestQueues(t *testing.T) {
	// Crossed workloads find late requests of an owner, which these locks do not tell from
	// those of its next hold.
	some := []locktest.Option{locktest.Crossed(0)}
	if testing.Short() {
		some = append(some, locktest.Scenarios("contention", "failover-lost-write"))
	}
	for _, l := range []locktest.Lock{queues.OfList, queues.OfSortedSet} {
		t.Run(l.Name, func(t *testing.T) { locktest.Run(t, l, some...) })
	}
}

// played plays a scenario with a lock and returns the history.
func played(t *testing.T, l locktest.Lock, scenario string) *history.History {
	t.Helper()
	out := t.TempDir()
	t.Setenv("HOLDFAST_OUT", out)
	locktest.Run(t, l, locktest.Scenarios(scenario))
	var h *history.History
	err := filepath.WalkDir(out, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(filepath.Base(path), ".jsonl") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h, err = history.Decode(f)
		return err
	})
	if err != nil || h == nil {
		t.Fatalf("no history is kept: %v", err)
	}
	return h
}

// Clients that wait in Redis wake in an order that the seed gives.
func TestQueuesRepeat(t *testing.T) {
	for _, l := range []locktest.Lock{queues.OfList, queues.OfSortedSet} {
		all := []string{"contention", "restart-without-data", "failover-lost-write"}
		if testing.Short() {
			all = all[:1]
		}
		for _, scenario := range all {
			if first, again := played(t, l, scenario).Hash(), played(t, l, scenario).Hash(); first != again {
				t.Errorf("%s with %s gives another history the second time", scenario, l.Name)
			}
		}
	}
}

// Where a lock declares how its key tells who holds it, verdicts rest on what
// the server has.
func TestTheHolderOfASortedSetIsSeen(t *testing.T) {
	h := played(t, queues.OfSortedSet, "contention")
	r, err := checker.Judge(h, checker.Options{})
	must.Succeed(t, err)
	for _, p := range []checker.Property{checker.Ownership, checker.Lease} {
		if v := r.Verdicts[p]; v.Outcome != checker.OutcomeOK || v.Evidence != "server log" {
			t.Errorf("%s is %+v", p, v)
		}
	}
	claims := checker.Beliefs(h)
	holds := 0
	for _, e := range h.Events {
		for _, c := range claims {
			if s := e.Server; s != nil && s.Holder == c.Owner && s.Holder != s.WasHolder && e.Time <= c.From {
				holds++
				break
			}
		}
	}
	if holds < len(claims) || len(claims) == 0 {
		t.Errorf("the server has seen %d holds of %d", holds, len(claims))
	}
}

// Where a lock does not declare its holder, or its key does not show it, the lock is
// judged by its clients alone. It is not blamed for that.
func TestAHolderThatIsNotDeclaredIsNotSeen(t *testing.T) {
	for holder, why := range map[locktest.Holder]string{
		"": "is a zset", locktest.HolderNone: "does not tell", locktest.HolderFirst: `declares "first"`,
	} {
		l := queues.OfSortedSet
		l.Holder = holder
		h := played(t, l, "contention")
		if !h.Header.Unwatched || !strings.Contains(h.Header.Unseen, why) {
			t.Errorf("declared %q: unwatched %v, %q", holder, h.Header.Unwatched, h.Header.Unseen)
		}
		r, err := checker.Judge(h, checker.Options{})
		must.Succeed(t, err)
		for _, p := range []checker.Property{checker.Ownership, checker.Lease, checker.Renewal} {
			if v, judged := r.Verdicts[p]; judged {
				t.Errorf("declared %q: %s is judged: %+v", holder, p, v)
			}
		}
		if r.Verdicts[checker.Exclusion].Outcome != checker.OutcomeOK {
			t.Errorf("declared %q: exclusion is %+v", holder, r.Verdicts[checker.Exclusion])
		}
		shown := 0
		for _, e := range h.Events {
			if e.Server != nil && strings.HasPrefix(e.Server.Holds, "zset: client-") {
				shown++
			}
		}
		if shown == 0 {
			t.Errorf("declared %q: no change of the key is shown", holder)
		}
	}
}

// TestWrongQueue runs below TestAWrongQueueIsCaught: a release that takes the first
// waiter away, and a lock of estimates.
func TestWrongQueue(t *testing.T) {
	l := queues.OfSortedSet
	right := l.New
	switch os.Getenv(wrong) {
	case "headless":
		l.New = func(c *locktest.Client, name, owner string) lock.Locker {
			f := right(c, name, owner).(*locktest.Funcs)
			f.Release = func(ctx context.Context) error { return c.Redis.ZPopMin(context.WithoutCancel(ctx), name).Err() }
			return f
		}
	case "untold":
		l.New = func(c *locktest.Client, name, owner string) lock.Locker {
			m := &zsetqueue.Mutex{Redis: c.Redis, Name: name, Owner: owner, Lease: c.Lease, Untold: true}
			return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
		}
	case "estimates":
		l.New = func(c *locktest.Client, name, owner string) lock.Locker {
			return &locktest.Funcs{
				Acquire: func(ctx context.Context) error { return c.Redis.PFAdd(ctx, name, owner).Err() },
				Release: func(ctx context.Context) error { return c.Redis.Del(ctx, name).Err() },
			}
		}
	default:
		return // not asked for
	}
	locktest.Run(t, l, locktest.Scenarios("late-release"))
}

// A mistake on a sorted set is seen on the server. A command that the world cannot follow
// is named in one line, and the lock is not blamed for it.
func TestAWrongQueueIsCaught(t *testing.T) {
	for name, want := range map[string]string{
		"untold":    "slept on a free lock from",
		"headless":  "ownership violated: client-1 ",
		"estimates": "cannot follow PFADD in the simulated world",
	} {
		if out := fails(t, "^TestWrongQueue$", wrong+"="+name, "HOLDFAST_OUT="+t.TempDir()); !strings.Contains(out, want) {
			t.Errorf("%s: it does not say %q:\n%s", name, want, out)
		}
	}
}
