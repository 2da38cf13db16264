package locktest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/fenced"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/quorum"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/redlock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/reentrant"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/seconds"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/single"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/wakeup"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/watchdog"
	"github.com/holdfast-go/holdfast/play"
	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/suite"
)

var (
	outsiderSeeds = flag.Int("outsiders.seeds", 1, "how many seeds the right locks of testdata/locks are played with")
	outsiderOut   = flag.String("outsiders.out", "", "a directory to write every history to")
	outsiderIn    = flag.String("outsiders.in", "", "the scenarios to play in the place of the catalogue, with commas")
	outsiderAll   = flag.Bool("outsiders.all", false, "play every mutant in every scenario, and print which properties tell it")
)

// clients are those of one process, made as a lock's own options make them: with
// an address and a dial hook for each server.
type clients []*redis.Client

// connect makes clients that send no command twice, and that heed their contexts.
func connect(c *Client) clients {
	var all clients
	for _, addr := range c.Addrs {
		all = append(all, redis.NewClient(&redis.Options{Addr: addr, Dialer: c.Dial, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true}))
	}
	return all
}

func (all clients) Close() error {
	var first error
	for _, rdb := range all {
		if err := rdb.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// opened is a lock whose clients are its own.
type opened struct {
	clients
	locker func(name, owner string) lock.Locker
}

func (o opened) Locker(name, owner string) lock.Locker { return o.locker(name, owner) }

// onItsOwn makes the Open of a lock that connects by itself.
func onItsOwn(locker func(c *Client, servers []*redis.Client, name, owner string) lock.Locker) func(*Client) (Session, error) {
	return func(c *Client) (Session, error) {
		all := connect(c)
		return opened{all, func(name, owner string) lock.Locker { return locker(c, all, name, owner) }}, nil
	}
}

// reached leaves the cluster out, for which clients with one address do not do.
var reached = []string{"address", "sentinels"}

// outsiders are locks of other people: right ones, each with the single mistakes
// that it can be given.
var outsiders = []struct {
	lock     func(mistake string) Lock
	mistakes []mistake
}{
	{singleLock, []mistake{
		{"plain-delete", "", nil},
		{"get-then-delete", "", nil},
		{"no-expiry", "", nil},
		{"expiry-second", "", nil},
		{"wrong-unit", "", nil},
		{"long-lease", "", nil},
		{"no-nx", "", nil},
		{"exists-then-set", "", nil},
		{"constant-value", "", nil},
		{"error-is-grant", "", nil},
		{"error-is-busy", "", nil},
		{"three-tries", "", nil},
		{"long-sleep", "", nil},
		{"waits-on", "", nil},
		{"callers-context", "", nil},
		{"swallowed-release", "", nil},
		{"always-released", "", nil},
		{"double-release", "", nil},
		{"no-release", "", nil},
		{"other-key", "", nil},
		{"leaked-connection", "", nil},
	}},
	{watchdogLock, []mistake{
		{"recreates", "", nil},
		{"silent-loss", "", nil},
		{"swallowed-release", "", nil},
		{"adds-intervals", "", nil},
		{"result-ignored", "", nil},
		{"one-failure-is-loss", "", nil},
		{"dies-of-one-error", "", nil},
		{"unchecked-renewal", "", nil},
		{"counted-from-reply", "", nil},
		{"renewal-counted-from-reply", "", nil},
		{"acquires-context", "", nil},
		{"renewed-too-late", "", nil},
		{"renewed-once", "", nil},
		{"renewed-in-seconds", "", nil},
		{"renewal-without-timeout", "", nil},
		{"no-deadline", "", nil},
		{"stale-grant", "", nil},
		{"renews-after-failed-release", "", nil},
	}},
	{reentrantLock, []mistake{
		{"one-field", "", nil},
		{"stale-grant", "", nil},
		{"inner-shortens", "", nil},
		{"anybody-enters", "", nil},
		{"relative-count", "", nil},
		{"watchdog-stops-early", "", nil},
		{"partial-release-renews", "", nil},
		{"release-unchecked", "", nil},
		{"last-but-one", "", nil},
		{"last-stays", "", nil},
		{"own-lease-renewed", "", nil},
		{"loss-unnoticed", "", nil},
		{"swallowed-release", "", nil},
	}},
	{redlockLock, []mistake{
		{"half", "", nil},
		{"one-is-enough", "", nil},
		{"all", "", nil},
		{"no-validity", "", nil},
		{"validity-from-last-reply", "", nil},
		{"patient", "", nil},
		{"error-is-yes", "", nil},
		{"no-undo", "", nil},
		{"undo-of-yes", "", nil},
		{"undo-on-first", "", nil},
		{"plain-delete", "", nil},
		{"release-on-minority", "", nil},
		{"release-on-quorum", "", nil},
		{"swallowed-release", "", nil},
	}},
	{fencedLock, []mistake{
		{"token-of-its-own-command", "", nil},
		{"token-first", "", nil},
		{"token-from-clock", "", nil},
		{"token-expires", "", nil},
		{"zero-token", "", nil},
		{"first-token", "", nil},
		{"counter-deleted", "", nil},
	}},
	{wakeupLock, []mistake{
		{"sleeps-at-once", "", nil},
		{"message-is-grant", "", nil},
		{"message-unheeded", "", nil},
		{"messages-alone", "", nil},
		{"sleeps-for-the-lease", "", nil},
		{"hot-loop", "", nil},
		{"poisoned", "", nil},
		{"wrong-channel", "", nil},
		{"not-published", "", nil},
		{"release-unchecked", "", nil},
		{"published-before", "", nil},
		{"published-by-own-command", "", nil},
		{"never-unsubscribes", "", nil},
	}},
	{secondsLock, []mistake{
		{"seconds-as-milliseconds", "", nil},
		{"milliseconds-as-seconds", "", nil},
		{"second-short", "", nil},
		{"no-nx", "", nil},
		{"nil-is-grant", "", nil},
		{"owner-unchecked", "", nil},
		{"nothing-watched", "", nil},
	}},
	{quorumLock, []mistake{
		{"half", "", nil},
		{"counted-from-reply", "", nil},
		{"no-undo", "", nil},
		{"silent-loss", "", nil},
		{"renews-on-one", "", nil},
		{"one-renewal-is-enough", "", nil},
		{"all-renewals-or-lost", "", nil},
		{"result-ignored", "", nil},
		{"one-failure-is-loss", "", nil},
		{"no-deadline", "", nil},
		{"release-on-one", "", nil},
	}},
}

// mistake is a mutant, and what tells it.
type mistake struct {
	name     string
	property string   // that is violated
	in       []string // the scenarios to play, of which one has to show it
}

func singleLock(mistake string) Lock {
	return Lock{
		Name: "single", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Handoff: single.Poll, Reaches: reached,
		Busy: single.ErrTaken, NotHeld: single.ErrNotHeld, Classify: unclear(single.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &single.Mutex{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock}
		}),
	}
}

func watchdogLock(mistake string) Lock {
	return Lock{
		Name: "watchdog", Claims: Claims{Waits: true, Cancels: true, Lease: true, Renewal: true, LostSign: true}, Handoff: watchdog.Poll, Reaches: reached,
		Busy: watchdog.ErrTaken, Lost: watchdog.ErrLost, Classify: unclear(watchdog.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &watchdog.Mutex{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, LostSign: m.Lost}
		}),
	}
}

func reentrantLock(mistake string) Lock {
	return Lock{
		Name: "hash", Claims: Claims{Waits: true, Cancels: true, Reentrant: true, Lease: true, Explicit: true, Renewal: true, LostSign: true},
		Handoff: reentrant.Poll, Reaches: reached,
		Busy: reentrant.ErrTaken, NotHeld: reentrant.ErrNotHeld, Lost: reentrant.ErrLost, Classify: unclear(reentrant.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &reentrant.Mutex{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Mistake: mistake}
			return &Funcs{Acquire: m.Lock, AcquireFor: m.LockFor, Release: m.Unlock, LostSign: m.Lost}
		}),
	}
}

func redlockLock(mistake string) Lock {
	return Lock{
		Name: "redlock-docs", Claims: Claims{Waits: true, Cancels: true, Lease: true, TakesBack: true}, Primaries: 5, Quorum: 3,
		Handoff: redlock.Delay + 2*redlock.Request, Busy: redlock.ErrTaken, NotHeld: redlock.ErrNotHeld, Classify: unclear(redlock.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &redlock.Mutex{Servers: on, Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock}
		}),
	}
}

// unclear classifies a lock's own error for an outcome that it does not know.
func unclear(own error) func(error) error {
	return func(err error) error {
		if errors.Is(err, own) {
			return lock.ErrUnknown
		}
		return nil
	}
}

func fencedLock(mistake string) Lock {
	return Lock{
		Name: "numbered", Claims: Claims{Waits: true, Cancels: true, Lease: true, Fencing: true}, Handoff: fenced.Poll, Reaches: reached,
		Keeps: []string{fenced.Counter("{name}")}, Busy: fenced.ErrTaken, NotHeld: fenced.ErrNotHeld, Classify: unclear(fenced.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &fenced.Mutex{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Token: m.Token}
		}),
	}
}

func wakeupLock(mistake string) Lock {
	return Lock{
		Name: "wakeup", Claims: Claims{Waits: true, Cancels: true, Lease: true, Messages: true}, Handoff: wakeup.SafetyPoll, Reaches: reached,
		Busy: wakeup.ErrTaken, NotHeld: wakeup.ErrNotHeld, Classify: unclear(wakeup.ErrUnclear),
		Open: func(c *Client) (Session, error) {
			all := connect(c)
			poll := c.Poll
			if poll == 0 {
				poll = wakeup.SafetyPoll
			}
			w := &wakeup.Client{Redis: all[0], Lease: c.Lease, Poll: poll, Mistake: mistake}
			return opened{all, func(name, owner string) lock.Locker {
				m := w.NewMutex(name, c.Rand(owner))
				return &Funcs{Acquire: m.Lock, Release: m.Unlock}
			}}, nil
		},
	}
}

func secondsLock(mistake string) Lock {
	return Lock{
		Name: "seconds", Claims: Claims{Lease: true}, Reaches: reached,
		Known: lastsAsItsRequest("lost-acquire-reply", "stale-grant", "kept-away", "unheard-grant"),
		Busy:  seconds.ErrTaken, NotHeld: seconds.ErrNotHeld,
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &seconds.Mutex{Redis: on[0], Name: name, Owner: owner, Seconds: seconds.Whole(c.Lease), Mistake: mistake}
			return &Funcs{Acquire: m.TryLock, Release: m.Unlock}
		}),
	}
}

// lastsAsItsRequest is what a lock is known for whose acquire neither waits nor can
// be cancelled.
func lastsAsItsRequest(scenarios ...string) []Known {
	var all []Known
	for _, s := range scenarios {
		all = append(all, Known{s, "progress", "an acquire that neither waits nor can be cancelled lasts as long as its request"})
	}
	return all
}

func quorumLock(mistake string) Lock {
	return Lock{
		Name: "two-of-three", Claims: Claims{Waits: true, Cancels: true, Lease: true, Renewal: true, LostSign: true, TakesBack: true}, Primaries: 3, Quorum: 2,
		Handoff: quorum.Delay, Busy: quorum.ErrTaken, Lost: quorum.ErrLost, Classify: unclear(quorum.ErrUnclear),
		New: func(c *Client, name, owner string) lock.Locker {
			m := &quorum.Mutex{Servers: c.Primaries, Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, LostSign: m.Lost}
		},
	}
}

// verdicts plays a lock in a scenario and returns what is not as expected, by
// property; played is false where the scenario is not about such a lock.
func verdicts(t *testing.T, l Lock, s *scenarios.Scenario, seed uint64) (wrong map[string]string, played bool) {
	t.Helper()
	r, ok, err := playOutsider(l, s, seed)
	if err != nil {
		t.Fatalf("%s with %s, seed %d: %v", s.Name, l.Name, seed, err)
	}
	if !ok {
		return nil, false
	}
	wrong = map[string]string{}
	for p, v := range r.Verdicts {
		if !r.Matches(p) {
			wrong[string(p)] = fmt.Sprintf("%s %s: %s", v.Outcome, v.Class, v.Reason)
		}
	}
	if r.Failure != "" {
		wrong["failure"] = r.Failure
	}
	return wrong, true
}

func playOutsider(l Lock, s *scenarios.Scenario, seed uint64) (r results.Run, ok bool, err error) {
	sub, err := l.subject()
	if err != nil {
		return r, false, err
	}
	if ok, _ := s.Applies(sub); !ok {
		return r, false, nil
	}
	r = results.Run{Scenario: s.Name, Lock: sub.Name(), World: "sim", Seed: seed}
	keep := suite.Keep{Judge: true}
	if *outsiderOut != "" {
		keep.File = filepath.Join(*outsiderOut, suite.HistoryPath(s.Name, sub.Name(), seed))
		if err := os.MkdirAll(filepath.Dir(keep.File), 0o777); err != nil {
			return r, false, err
		}
	}
	played, err := suite.Once(&r, s, sub, func() (*play.Played, error) { return simplay.Play(s, sub, seed, "test") }, keep)
	if err != nil {
		return r, false, err
	}
	if nothing, _ := play.NothingToStrike(s, sub, played); nothing {
		return r, false, nil
	}
	return r, true, nil
}

// A lock that is right, whoever wrote it, is never accused of anything.
func TestRightLocks(t *testing.T) {
	logging.Disable()
	for _, o := range outsiders {
		l := o.lock("")
		t.Run(l.Name, func(t *testing.T) {
			said := map[string]int{}
			for _, s := range catalogue(t) {
				for seed := range uint64(*outsiderSeeds) {
					wrong, _ := verdicts(t, l, s, 1+seed)
					for p, v := range wrong {
						if key := s.Name + " " + p; said[key] == 0 {
							t.Errorf("%s, seed %d: %s %s", s.Name, 1+seed, p, v)
						}
						said[s.Name+" "+p]++
					}
				}
			}
			for key, n := range said {
				t.Logf("%s: %d of %d seeds", key, n, *outsiderSeeds)
			}
		})
	}
}

// Each mistake is told, with the property that it violates.
func TestFaultyLocks(t *testing.T) {
	logging.Disable()
	for _, o := range outsiders {
		t.Run(o.lock("").Name, func(t *testing.T) {
			for _, m := range o.mistakes {
				t.Run(m.name, func(t *testing.T) {
					if *outsiderAll {
						t.Log(everywhere(t, o.lock(m.name)))
						return
					}
					for _, name := range m.in {
						s, err := scenarios.Find(name)
						if err != nil {
							t.Fatal(err)
						}
						wrong, played := verdicts(t, o.lock(m.name), s, 1)
						switch {
						case !played:
							t.Errorf("%s is not played", name)
						case wrong[m.property] == "":
							t.Errorf("%s does not tell: %v", name, wrong)
						}
					}
				})
			}
		})
	}
}

// everywhere plays a mutant in the whole catalogue, and says which scenarios tell
// which properties.
func everywhere(t *testing.T, l Lock) string {
	told := map[string][]string{}
	for _, s := range catalogue(t) {
		for seed := range uint64(*outsiderSeeds) {
			wrong, _ := verdicts(t, l, s, 1+seed)
			for p := range wrong {
				if !slices.Contains(told[p], s.Name) {
					told[p] = append(told[p], s.Name)
				}
			}
		}
	}
	if len(told) == 0 {
		return "SURVIVED"
	}
	var b strings.Builder
	b.WriteString("killed")
	for _, p := range slices.Sorted(maps.Keys(told)) {
		fmt.Fprintf(&b, "; %s: %s", p, strings.Join(told[p], " "))
	}
	return b.String()
}

// catalogue are the scenarios to play.
func catalogue(t *testing.T) []*scenarios.Scenario {
	if *outsiderIn == "" {
		return scenarios.Catalogue()
	}
	var some []*scenarios.Scenario
	for name := range strings.SplitSeq(*outsiderIn, ",") {
		s, err := scenarios.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		some = append(some, s)
	}
	return some
}
