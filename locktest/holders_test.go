package locktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
)

// simulated plays a catalogue scenario with a lock, and returns the history.
func simulated(t *testing.T, l Lock, scenario string) *history.History {
	t.Helper()
	logging.Disable()
	s, err := scenarios.Find(scenario)
	must.Succeed(t, err)
	tested, err := l.forScenarios()
	must.Succeed(t, err)
	p, err := play.Simulate(s.PlayedBy(history.Careful), tested, 1, "test")
	must.Succeed(t, err)
	return p.History
}

// A lock whose leases are scores is judged by what the servers have.
func TestHoldersAreSeen(t *testing.T) {
	r, err := checker.Judge(simulated(t, scoredLock(""), "contention"), checker.Options{})
	must.Succeed(t, err)
	for _, p := range []checker.Property{checker.Ownership, checker.Lease} {
		if v := r.Verdicts[p]; v.Outcome != checker.OutcomeOK || v.Evidence != "server log" {
			t.Errorf("%s is %+v", p, v)
		}
	}
}

// A lease that ends on a server without a change of a key ends in the history, by the
// clock of that server.
func TestHoldersEndByTheClock(t *testing.T) {
	for _, scenario := range []string{"holder-crash", "clock-jump"} {
		h, ends := simulated(t, scoredLock(""), scenario), 0
		for _, e := range h.Events {
			if s := e.Server; s != nil && s.Cause == "expiry" && s.WasHolder != "" && s.Holder == "" && s.Role == "primary" {
				ends++
			}
		}
		if ends == 0 {
			t.Errorf("%s: no lease has ended on a server", scenario)
		}
	}
}

// A Holders function that is wrong is noticed before the lock gets the blame.
func TestWrongHoldersAreNoticed(t *testing.T) {
	right := scoredLock("").Holders
	for name, wrong := range map[string]func(View) []Hold{
		"nobody":               func(View) []Hold { return nil },
		"a constant":           func(View) []Hold { return []Hold{{Owner: "somebody"}} },
		"another key":          func(v View) []Hold { return []Hold{{Owner: v.Text("lock:" + v.Name)}} },
		"the key as the owner": func(v View) []Hold { return []Hold{{Owner: v.Name}} },
		"an end in the past": func(v View) []Hold {
			all := right(v)
			for i := range all {
				all[i].End = all[i].End.Add(-time.Hour)
			}
			return all
		},
		"seconds for milliseconds": func(v View) []Hold {
			all := right(v)
			for i := range all {
				all[i].End = time.Unix(all[i].End.UnixMilli()/1e6, 0)
			}
			return all
		},
		"a part of the owner": func(v View) []Hold {
			all := right(v)
			for i := range all {
				all[i].Owner, _, _ = strings.Cut(all[i].Owner, ":")
			}
			return all
		},
	} {
		l := scoredLock("")
		l.Holders = wrong
		tested, err := l.forScenarios()
		must.Succeed(t, err)
		h := simulated(t, l, "contention")
		if why := wrongHolders(tested, h); !strings.HasPrefix(why, "Lock.Holders does not match") {
			t.Errorf("%s: is said to be %q", name, why)
		}
		if r, err := checker.Judge(h, checker.Options{}); err != nil || wrongToClients(r.Verdicts) {
			t.Errorf("%s: the lock gets the blame: %v, %v", name, r.Verdicts, err)
		}
	}
	var last []Hold
	l := scoredLock("")
	l.Holders = func(v View) []Hold {
		if now := right(v); len(now) > 0 {
			last = now
		}
		return last
	}
	tested, err := l.forScenarios()
	must.Succeed(t, err)
	if why := wrongHolders(tested, simulated(t, l, "contention")); why == "" {
		t.Error("the last holder, for ever: is not noticed")
	}
}

// So is one that does not count permits, and one that counts them is not.
func TestUncountedPermitsAreNoticed(t *testing.T) {
	l := weightedLock("")
	h := simulated(t, l, "several-permits")
	if why := uncounted(h); why != "" {
		t.Errorf("permits that are counted: %s", why)
	}
	right := l.Holders
	l.Holders = func(v View) []Hold {
		all := right(v)
		for i := range all {
			all[i].Count = 0
		}
		return all
	}
	if why := uncounted(simulated(t, l, "several-permits")); !strings.HasSuffix(why, "with 2 permits, and Holders counts one for each owner throughout. Set Hold.Count") {
		t.Errorf("permits that are not counted: %q", why)
	}
}

// So is one that does not tell a reader from a writer who is the same owner.
func TestUnsharedHoldsAreNoticed(t *testing.T) {
	l := readersLock("")
	for _, turn := range []string{"downgraded", "upgraded"} {
		l.Holders = readersLock("").Holders
		if why := unshared(simulated(t, l, turn)); why != "" {
			t.Errorf("%s, told apart: %s", turn, why)
		}
		l.Holders = func(v View) []Hold {
			all := readersLock("").Holders(v)
			for i := range all {
				all[i].Shared = false
			}
			return all
		}
		if why := unshared(simulated(t, l, turn)); !strings.HasSuffix(why, "Set Hold.Shared of the hold of a reader") {
			t.Errorf("%s, not told apart: %q", turn, why)
		}
	}
}

// A lock that grants what no server has is wrong, and not its Holders function.
func TestAWrongLockIsNoWrongHolders(t *testing.T) {
	l := scoredLock("")
	l.Open, l.New = nil, func(*Client, string, string) lock.Locker {
		grant := func(context.Context) error { return nil }
		return &Funcs{Acquire: grant, Release: grant}
	}
	r, err := checker.Judge(simulated(t, l, "contention"), checker.Options{})
	must.Succeed(t, err)
	if !wrongToClients(r.Verdicts) {
		t.Errorf("the clients see nothing wrong: %v", r.Verdicts)
	}
}

// Holders and Holder exclude each other, and Keys are for Holders.
func TestHoldersAreOneWay(t *testing.T) {
	both, idle := scoredLock(""), scoredLock("")
	both.Holder = HolderLowest
	idle.Holders, idle.Keys = nil, []string{"{name}:owners"}
	for _, l := range []Lock{both, idle} {
		if _, err := l.forScenarios(); err == nil {
			t.Errorf("a lock with Holder %q, %d Keys and Holders %t is accepted", l.Holder, len(l.Keys), l.Holders != nil)
		}
	}
}
