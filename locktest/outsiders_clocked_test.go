package locktest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/clocked"
	"github.com/holdfast-go/holdfast/scenarios"
)

// clockedLock makes a lock that asks for the time of its client.
func clockedLock(name, kind string, change func(*Lock)) func(mistake string) Lock {
	return func(mistake string) Lock {
		l := Lock{
			Name: "clocked-" + name, Claims: Claims{Waits: true, Lease: true}, Holder: HolderNone, Handoff: clocked.Poll, Reaches: reached,
			Keeps: []string{"{name}", clocked.Counter("{name}")},
			Busy:  clocked.ErrTaken, NotHeld: clocked.ErrNotHeld, Classify: unclear(clocked.ErrUnclear),
		}
		change(&l)
		l.Open = onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &clocked.Mutex{
				Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Now: c.Now, Kind: kind, Fenced: l.Claims.Fencing, Mistake: mistake,
			}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until, Token: m.Token}
		})
		return l
	}
}

// The locks of package clocked.
var (
	labelledLock = clockedLock("plain", "plain", func(*Lock) {})
	numberedLock = clockedLock("fenced", "plain", func(l *Lock) { l.Claims.Fencing = true })
	keptLock     = clockedLock("stored", "stored", func(*Lock) {})
	permitLock   = clockedLock("permits", "permits", func(l *Lock) { l.Claims.Permits = 2 })
)

// clockedLocks are right locks with mistakes that only the clock of a client shows. Most
// were reported: old pages on SETNX with GETSET, redis-lock 30, ShedLock 132 and 231,
// redis-semaphore for Node.js, and Redisson's permits.
var clockedLocks = []struct {
	lock     func(mistake string) Lock
	mistakes []mistake
}{
	{labelledLock, []mistake{
		{"pxat", "exclusion", "client-clock-behind", ""},
		{"expireat", "exclusion", "client-clock-behind", ""},
		{"release-by-wall", "linearizable", "client-clock-jumps-while-holding", ""},
		{"sleeps-until-end", "progress", "client-clock-ahead", ""},
	}},
	{numberedLock, []mistake{
		{"token-in-ns", "fencing", "client-clock-ahead", ""},
		{"token-in-us", "fencing", "client-clock-ahead", ""},
		{"token-in-ms-and-count", "fencing", "client-clock-ahead", ""},
	}},
	{keptLock, []mistake{
		{"end", "exclusion", "client-clock-behind", ""},
		{"end-in-seconds", "exclusion", "client-clock-behind", ""},
		{"start", "exclusion", "client-clock-behind", ""},
		{"start-in-seconds", "exclusion", "client-clock-behind", ""},
		{"end-for-the-server", "exclusion", "client-clock-behind", ""},
		{"start-for-the-server", "progress", "client-clock-ahead", ""},
		{"end-in-seconds-for-server", "exclusion", "client-clock-behind", ""},
		{"start-in-seconds-for-server", "exclusion", "client-clock-behind", ""},
		{"end-of-the-server", "exclusion", "client-clock-jumps-while-waiting", ""},
		{"start-of-the-server", "exclusion", "client-clock-jumps-while-waiting", ""},
		{"end-in-seconds-of-server", "exclusion", "client-clock-jumps-while-waiting", ""},
		{"start-in-seconds-of-server", "exclusion", "client-clock-jumps-while-waiting", ""},
		{"five-seconds-more", "exclusion", "client-clock-behind", ""},
		{"getset", "exclusion", "client-clock-jumps-while-waiting", ""},
		{"deletes-stale", "exclusion", "client-clock-jumps-while-waiting", ""},
	}},
	{permitLock, []mistake{
		{"scored-by-end", "exclusion", "client-clock-behind", ""},
		{"scored-by-start", "exclusion", "client-clock-behind", ""},
		{"ranked", "exclusion", "client-clock-behind", ""},
	}},
}

// A claim of synchronized clocks excuses no more than it says. The clocks differ by that much,
// and a lock that does not bear it fails.
func TestAClaimOfSynchronizedClocksIsTried(t *testing.T) {
	logging.Disable()
	s, err := scenarios.Find("client-clock-jumps-while-waiting")
	must.Succeed(t, err)
	for mistake, violated := range map[string]bool{"end": true, "five-seconds-more": false} {
		l := keptLock(mistake)
		l.Claims.SynchronizedClocks = 5 * time.Second
		if wrong, played := verdicts(t, l, s, 1); wrong["exclusion"] == "" == violated || !played {
			t.Errorf("%s, played %v: %v", mistake, played, wrong)
		}
	}
}

// clockScenarios are those about the clock of a client.
func clockScenarios() (all []*scenarios.Scenario) {
	for _, s := range scenarios.Catalogue() {
		if s.Has(movesClientClock) {
			all = append(all, s)
		}
	}
	return all
}

func movesClientClock(t history.Traits) bool { return t.MovesClientClock }

// A mistake shows when the clocks of clients differ, and with equal clocks it does not show on
// the same seeds. Right locks may ask for the time, and nothing accuses them.
func TestOnlyTheClockOfAClientShows(t *testing.T) {
	logging.Disable()
	for _, o := range clockedLocks {
		right := o.lock("")
		for _, s := range clockScenarios() {
			for seed := range uint64(3) {
				if wrong, played := verdicts(t, right, s, 1+seed); len(wrong) > 0 || !played {
					t.Errorf("%s, %s, seed %d, played %v: %v", right.Name, s.Name, 1+seed, played, wrong)
				}
			}
		}
		for _, m := range o.mistakes {
			t.Run(right.Name+"/"+m.name, func(t *testing.T) {
				s, err := scenarios.Find(m.in)
				must.Succeed(t, err)
				equal := *s
				equal.Faults = nil
				for _, f := range s.Faults {
					if !movesClientClock(f.Traits()) {
						equal.Faults = append(equal.Faults, f)
					}
				}
				for seed := range uint64(3) {
					if wrong, played := verdicts(t, o.lock(m.name), s, 1+seed); wrong[m.property] == "" {
						t.Errorf("%s, seed %d, played %v: %s is not violated, but %v", s.Name, 1+seed, played, m.property, wrong)
					}
					if wrong, _ := verdicts(t, o.lock(m.name), &equal, 1+seed); len(wrong) > 0 {
						t.Errorf("with equal clocks, %s, seed %d: %v", s.Name, 1+seed, wrong)
					}
				}
			})
		}
	}
}
