package locktest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/fenced"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/perprocess"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/quorum"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/redlock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/reentrant"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/seconds"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/semaphore"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/single"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/takeback"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/wakeup"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/watchdog"
	"github.com/holdfast-go/holdfast/play"
	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/suite"
)

var (
	outsiderFirst    = flag.Uint64("outsiders.first", 1, "the first of these seeds")
	outsiderSeeds    = flag.Int("outsiders.seeds", 1, "how many seeds the right locks of testdata/locks are played with")
	outsiderExplored = flag.Int("outsiders.explored", 20, "how many scenarios the right locks are explored with")
	outsiderOut      = flag.String("outsiders.out", "", "a directory to write every history to")
	outsiderIn       = flag.String("outsiders.in", "", "the scenarios to play in the place of the catalogue, with commas")
	outsiderAll      = flag.Bool("outsiders.all", false, "play every mutant in every scenario, and print which properties tell it")
)

// clients are those of one process, made as a lock's own options make them: with
// an address and a dial hook for each server.
type clients []*redis.Client

// connect makes clients that send no command twice, and that heed their contexts.
// They ask for no maintenance notifications: go-redis holds a mutex while it asks.
// Their pool never runs out: who waits for a connection takes a channel from a
// sync.Pool, which may be that of another run.
func connect(c *Client) clients {
	var all clients
	for _, addr := range c.Addrs {
		all = append(all, redis.NewClient(&redis.Options{
			Addr: addr, Dialer: c.Dial, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true, PoolSize: 1000,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}))
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
		{"plain-delete", "exclusion", "late-release", ""},
		{"get-then-delete", "exclusion", "check-then-delete", ""},
		{"no-expiry", "lease", "holder-crash", ""},
		{"expiry-second", "lease", "crash-between-commands", ""},
		{"wrong-unit", "lease", "contention", ""},
		{"long-lease", "lease", "contention", ""},
		{"no-nx", "exclusion", "contention", ""},
		{"exists-then-set", "linearizable", "pause-in-acquire", ""},
		{"constant-value", "exclusion", "late-release", ""},
		{"error-is-grant", "exclusion", "broken-acquire", ""},
		{"error-is-busy", "errors", "lost-acquire-reply", ""},
		{"three-tries", "progress", "contention", ""},
		{"long-sleep", "progress", "contention", ""},
		{"waits-on", "progress", "wait-runs-out", ""},
		{"callers-context", "errors", "cancelled-release", ""},
		{"swallowed-release", "errors", "down-at-release", ""},
		{"always-released", "errors", "late-release", ""},
		{"double-release", "ownership", "key-deleted", ""},
		{"no-release", "cleanup", "contention", ""},
		{"other-key", "cleanup", "contention", ""},
		{"leaked-connection", "cleanup", "contention", ""},
		{"cut-name", "errors", "awkward-names", ""},
		{"own-is-grant", "lease", "asked-again", ""},
		{"fails-open", "linearizable", "kept-away", ""},
		{"taken-early", "ownership", "holder-crash", ""},
		{"waiters-prolong", "ownership", "contention", ""},
		{"put-back", "ownership", "late-release", ""},
		{"in-the-background", "errors", "contention", ""},
		{"until-from-reply", "exclusion", "slow-grant", ""},
		{"swap", "ownership", "contention", ""},
		{"hedged", "exclusion", "broken-second-request", ""},
	}},
	{watchdogLock, []mistake{
		{"recreates", "ownership", "stolen-between-renewals", ""},
		{"silent-loss", "exclusion", "partitioned-holder", ""},
		{"swallowed-release", "errors", "failover-lost-write", ""},
		{"adds-intervals", "lease", "many-hiccups", ""},
		{"result-ignored", "exclusion", "partitioned-holder", ""},
		{"one-failure-is-loss", "errors", "renewal-hiccup", ""},
		{"dies-of-one-error", "renewal", "renewal-hiccup", ""},
		{"unchecked-renewal", "ownership", "stolen-between-renewals", ""},
		{"counted-from-reply", "exclusion", "slow-acquire-then-cut", ""},
		{"renewal-counted-from-reply", "", "", "the overlap of 0.3 s is within the allowance"},
		{"acquires-context", "renewal", "slow-holder", ""},
		{"renewed-too-late", "renewal", "slow-holder", ""},
		{"renewed-once", "renewal", "slow-holder", ""},
		{"renewed-in-seconds", "lease", "slow-holder", ""},
		{"renewal-without-timeout", "exclusion", "partitioned-holder", ""},
		{"no-deadline", "exclusion", "partitioned-holder", ""},
		{"stale-grant", "exclusion", "stale-grant", ""},
		{"renews-after-failed-release", "progress", "down-at-release", ""},
	}},
	{reentrantLock, []mistake{
		{"one-field", "exclusion", "late-own-release", ""},
		{"stale-grant", "exclusion", "stale-grant", ""},
		{"inner-shortens", "lease", "reentrancy", ""},
		{"anybody-enters", "exclusion", "contention", ""},
		{"relative-count", "linearizable", "lost-inner-release-reply", ""},
		{"watchdog-stops-early", "renewal", "inner-release", ""},
		{"partial-release-renews", "exclusion", "partial-release-then-cut", ""},
		{"release-unchecked", "exclusion", "reentrancy", ""},
		{"last-but-one", "exclusion", "inner-release", ""},
		{"last-stays", "cleanup", "contention", ""},
		{"own-lease-renewed", "linearizable", "explicit-lease-ends", ""},
		{"loss-unnoticed", "progress", "nested-after-delete", ""},
		{"threads-share", "exclusion", "several-owners", ""},
		{"own-lease-ignored", "lease", "explicit-lease-ends", ""},
		{"swallowed-release", "errors", "failover-lost-write", ""},
	}},
	{redlockLock, []mistake{
		{"half", "exclusion", "redlock-node-restart-delayed", ""},
		{"one-is-enough", "exclusion", "key-deleted", ""},
		{"all", "errors", "key-deleted", ""},
		{"no-validity", "lease", "redlock-slow-replies", ""},
		{"validity-from-last-reply", "lease", "redlock-slow-replies", ""},
		{"no-drift", "lease", "contention", ""},
		{"patient", "progress", "member-black-holed", ""},
		{"error-is-yes", "exclusion", "redlock-node-restart-delayed", ""},
		{"no-undo", "errors", "several-owners", ""},
		{"undo-of-yes", "errors", "several-owners", ""},
		{"undo-on-first", "errors", "several-owners", ""},
		{"plain-delete", "exclusion", "contention", ""},
		{"release-on-minority", "cleanup", "contention", ""},
		{"release-on-quorum", "errors", "contention", ""},
		{"swallowed-release", "errors", "majority-cut-at-release", ""},
	}},
	{fencedLock, []mistake{
		{"token-of-its-own-command", "linearizable", "pause-in-acquire", ""},
		{"token-first", "linearizable", "pause-between-commands", ""},
		{"token-from-clock", "fencing", "contention", ""},
		{"token-expires", "fencing", "holder-crash", ""},
		{"zero-token", "fencing", "contention", ""},
		{"first-token", "fencing", "contention", ""},
		{"counter-deleted", "fencing", "contention", ""},
	}},
	{wakeupLock, []mistake{
		{"sleeps-at-once", "progress", "slow-subscribe", ""},
		{"message-is-grant", "exclusion", "contention", ""},
		{"message-unheeded", "progress", "woken-by-message", ""},
		{"messages-alone", "progress", "lost-unlock-message", ""},
		{"sleeps-for-the-lease", "progress", "lost-unlock-message", ""},
		{"hot-loop", "", "", "it looks every millisecond, and no judge counts commands"},
		{"poisoned", "progress", "broken-subscribe", ""},
		{"looks-only", "progress", "handed-over-by-message", ""},
		{"wrong-channel", "progress", "woken-by-message", ""},
		{"not-published", "progress", "woken-by-message", ""},
		{"release-unchecked", "exclusion", "late-release", ""},
		{"published-before", "", "", "it shows only when the waiter is quicker than the release"},
		{"never-unsubscribes", "cleanup", "contention", ""},
	}},
	{takebackLock, []mistake{
		{"value-of-owner", "exclusion", "asked-again", ""},
		{"not-after-error", "progress", "broken-replies", ""},
		{"not-after-cancel", "progress", "cancelled-acquire", ""},
		{"lease-ignored", "lease", "explicit-lease-ends", ""},
		{"swallowed-release", "errors", "down-at-release", ""},
	}},
	{closingLock, []mistake{
		{"loss-untold-after-close", "exclusion", "closed-while-held", ""},
	}},
	{secondsLock, []mistake{
		{"seconds-as-milliseconds", "lease", "contention", ""},
		{"milliseconds-as-seconds", "lease", "contention", ""},
		{"second-short", "lease", "contention", ""},
		{"no-nx", "exclusion", "contention", ""},
		{"nil-is-grant", "exclusion", "slow-holder", ""},
		{"owner-unchecked", "exclusion", "late-release", ""},
		{"nothing-watched", "exclusion", "check-then-delete", ""},
	}},
	{quorumLock, []mistake{
		{"half", "exclusion", "key-deleted", ""},
		{"no-undo", "errors", "several-owners", ""},
		{"silent-loss", "exclusion", "partitioned-holder", ""},
		{"renews-on-one", "renewal", "slow-holder", ""},
		{"one-renewal-is-enough", "exclusion", "two-cut-at-renewal", ""},
		{"all-renewals-or-lost", "errors", "deleted-between-renewals", ""},
		{"result-ignored", "exclusion", "partitioned-holder", ""},
		{"one-failure-is-loss", "errors", "minority-emptied", ""},
		{"no-deadline", "exclusion", "partitioned-holder", ""},
		{"release-on-one", "cleanup", "contention", ""},
	}},
	{semaphoreLock, []mistake{
		{"limit-two", "exclusion", "contention", ""},
		{"add-first", "linearizable", "wait-runs-out", ""},
		{"not-cleaned", "cleanup", "holder-crash", ""},
		{"pops", "linearizable", "late-release", ""},
	}},
	{perProcessLock, []mistake{
		{"one-value", "exclusion", "late-own-release", ""},
		{"slot-kept", "linearizable", "contention", ""},
	}},
}

// mistake is a mutant, and what tells it.
type mistake struct {
	name     string
	property string // that is violated
	in       string // the scenario that shows it
	gap      string // why none does yet; "" where one does
}

func singleLock(mistake string) Lock {
	return Lock{
		Name: "single", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Handoff: single.Poll, Reaches: reached,
		Busy: single.ErrTaken, NotHeld: single.ErrNotHeld, Classify: unclear(single.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &single.Mutex{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until}
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
		Name: "redlock-docs", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Primaries: 5, Quorum: 3,
		Drift:   Drift{Rate: 0.01, Const: 2 * time.Millisecond},
		Handoff: redlock.Delay + 2*redlock.Request, Busy: redlock.ErrTaken, NotHeld: redlock.ErrNotHeld, Classify: unclear(redlock.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &redlock.Mutex{Servers: on, Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until}
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

func takebackLock(mistake string) Lock {
	return Lock{
		Name: "takeback", Claims: Claims{Waits: true, Cancels: true, Lease: true, Explicit: true, TakesBack: true}, Handoff: takeback.Poll, Reaches: reached,
		Busy: takeback.ErrTaken, NotHeld: takeback.ErrNotHeld, Classify: unclear(takeback.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &takeback.Mutex{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, AcquireFor: m.LockFor, Release: m.Unlock}
		}),
	}
}

// closingLock is the reference lock, which tells of a loss also when it was closed.
func closingLock(mistake string) Lock {
	return Lock{
		Name: "closing", Claims: Claims{Waits: true, Cancels: true, Closes: true, Lease: true, Renewal: true, LostSign: true}, StoresOwner: true,
		Open: func(c *Client) (Session, error) {
			client, err := lock.New(c.Redis, lock.WithWatchdogTimeout(c.Lease), lock.WithID(c.ID), lock.WithRand(c.Rand()))
			return &closingSession{client, mistake != "", make(chan struct{})}, err
		},
	}
}

type closingSession struct {
	*lock.Client
	silent bool // a loss that comes after Close is not told
	closed chan struct{}
}

func (s *closingSession) Close() error {
	close(s.closed)
	return s.Client.Close()
}

func (s *closingSession) Locker(name, owner string) lock.Locker {
	return closingLocker{s.NewLock(name, owner), s}
}

type closingLocker struct {
	lock.Locker
	s *closingSession
}

func (l closingLocker) Lost() <-chan struct{} {
	signal := l.Locker.(lock.LostNotifier).Lost()
	if !l.s.silent {
		return signal
	}
	told := make(chan struct{})
	go func() {
		select {
		case <-signal:
			close(told)
		case <-l.s.closed:
		}
	}()
	return told
}

func secondsLock(mistake string) Lock {
	return Lock{
		Name: "seconds", Claims: Claims{Lease: true}, LeaseUnit: time.Second, Reaches: reached,
		Busy: seconds.ErrTaken, NotHeld: seconds.ErrNotHeld, Classify: unclear(seconds.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &seconds.Mutex{Redis: on[0], Name: name, Owner: owner, Seconds: seconds.Whole(c.Lease), Mistake: mistake}
			return &Funcs{Acquire: m.TryLock, Release: m.Unlock}
		}),
	}
}

func quorumLock(mistake string) Lock {
	return Lock{
		Name: "two-of-three", Claims: Claims{Waits: true, Cancels: true, Lease: true, Renewal: true, LostSign: true}, Primaries: 3, Quorum: 2,
		Handoff: quorum.Delay, Busy: quorum.ErrTaken, Lost: quorum.ErrLost, Classify: unclear(quorum.ErrUnclear),
		New: func(c *Client, name, owner string) lock.Locker {
			m := &quorum.Mutex{Servers: c.Primaries, Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, LostSign: m.Lost}
		},
	}
}

func semaphoreLock(mistake string) Lock {
	return Lock{
		Name: "semaphore", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Holder: HolderNone, Handoff: semaphore.Poll, Reaches: reached,
		Busy: semaphore.ErrTaken, NotHeld: semaphore.ErrNotHeld, Classify: unclear(semaphore.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &semaphore.Mutex{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock}
		}),
	}
}

func perProcessLock(mistake string) Lock {
	return Lock{
		Name: "per-process", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Handoff: perprocess.Poll, Reaches: reached,
		Busy: perprocess.ErrTaken, NotHeld: perprocess.ErrNotHeld, Classify: unclear(perprocess.ErrUnclear),
		Open: func(c *Client) (Session, error) {
			all := connect(c)
			p := &perprocess.Process{Redis: all[0], ID: c.ID, Lease: c.Lease, Mistake: mistake}
			return opened{all, func(name, owner string) lock.Locker {
				m := &perprocess.Mutex{Process: p, Name: name, Rand: c.Rand(name, owner)}
				return &Funcs{Acquire: m.Lock, Release: m.Unlock}
			}}, nil
		},
	}
}

// verdicts plays a lock in a scenario with each kind of user, and returns what is
// not as expected, by property; played is false where the scenario is not about
// such a lock.
func verdicts(t *testing.T, l Lock, s *scenarios.Scenario, seed uint64) (wrong map[string]string, played bool) {
	t.Helper()
	sub, err := l.subject()
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := s.Applies(sub); !ok {
		return nil, false
	}
	wrong = map[string]string{}
	users, _ := suite.UsersOf(s, sub, suite.BothUsers)
	for _, user := range users {
		by := s.PlayedBy(user)
		r := results.Run{Scenario: s.Name, Lock: sub.Name(), World: "sim", Seed: seed, User: user}
		keep := suite.Keep{Judge: true}
		if *outsiderOut != "" {
			keep.File = filepath.Join(*outsiderOut, fmt.Sprintf("%s-%s-%s-%d.jsonl", s.Name, sub.Name(), user, seed))
		}
		p, err := suite.Once(&r, by, sub, func() (*play.Played, error) { return simplay.Play(by, sub, seed, "test") }, keep)
		if err != nil {
			t.Fatalf("%s with %s, seed %d: %v", s.Name, l.Name, seed, err)
		}
		if nothing, _ := play.NothingToStrike(by, sub, p); nothing {
			return nil, false
		}
		for p, v := range r.Verdicts {
			if !r.Matches(p) {
				wrong[string(p)] = fmt.Sprintf("%s %s%s: %s", user, v.Outcome, v.Class, v.Reason)
			}
		}
		if r.Failure != "" {
			wrong["failure"] = r.Failure
		}
	}
	return wrong, true
}

// A lock that is right, whoever wrote it, is never accused of anything.
func TestRightLocks(t *testing.T) {
	logging.Disable()
	every := nightly.Every(3) // the next lock is played in other scenarios
	for i, o := range outsiders {
		l := o.lock("")
		t.Run(l.Name, func(t *testing.T) {
			said := map[string]int{}
			for n, s := range catalogue(t) {
				if (n+i)%every != 0 {
					continue
				}
				for k := range uint64(*outsiderSeeds) {
					seed := *outsiderFirst + k
					wrong, _ := verdicts(t, l, s, seed)
					for p, v := range wrong {
						if key := s.Name + " " + p; said[key] == 0 {
							t.Errorf("%s, seed %d: %s %s", s.Name, seed, p, v)
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

// Nor is it in scenarios that are drawn at random.
func TestRightLocksExplored(t *testing.T) {
	runs := *outsiderExplored / nightly.Every(3)
	if testing.Short() {
		runs = 2
	}
	for _, o := range outsiders {
		l := o.lock("")
		t.Run(l.Name, func(t *testing.T) { Explore(t, l, Runs(runs)) })
	}
}

// Each mistake is told, with the property that it violates.
func TestFaultyLocks(t *testing.T) {
	logging.Disable()
	for _, o := range outsiders {
		t.Run(o.lock("").Name, func(t *testing.T) {
			for i, m := range o.mistakes {
				if testing.Short() && i > 1 {
					break
				}
				t.Run(m.name, func(t *testing.T) {
					if *outsiderAll {
						told := everywhere(t, o.lock(m.name))
						t.Log(told)
						if survives := told == survived; survives != (m.gap != "") {
							t.Errorf("is said to survive: %t, and survives: %t", m.gap != "", survives)
						}
						return
					}
					if m.gap != "" {
						t.Logf("survives: %s", m.gap)
						return
					}
					s, err := scenarios.Find(m.in)
					if err != nil {
						t.Fatal(err)
					}
					wrong, played := verdicts(t, o.lock(m.name), s, 1)
					switch {
					case !played:
						t.Errorf("%s is not played", m.in)
					case wrong[m.property] == "":
						t.Errorf("%s does not show that %s is violated, but %v", m.in, m.property, wrong)
					}
				})
			}
		})
	}
}

const survived = "survived"

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
		return survived
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
	if testing.Short() { // the race detector looks at how locks are played, not at each of them
		*outsiderIn = "contention,failover-lost-write"
	}
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
