package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/lock/gallery"
	"github.com/holdfast-go/holdfast/lock/textbook"
	"github.com/holdfast-go/holdfast/sim"
)

// environment is what a lock under test gets in one client process.
type environment struct {
	process  string
	seed     uint64
	lease    time.Duration           // lease, and watchdog timeout
	poll     time.Duration           // how long a waiter goes without looking; 0 for the default
	replicas int                     // of each primary
	scale    float64                 // what the times of the run are scaled by
	clients  []redis.UniversalClient // one per group
	options  []lock.Option           // of the reference lock, besides those of the subject
}

// session is a lock under test in one client process.
type session interface {
	// locker is one owner's view of one lock; a thread is an owner.
	locker(name, thread string) lock.Locker
	// identity is what the lock stores on a server for a thread.
	identity(thread string) string
	Close() error
}

// subject is a lock under test.
type subject struct {
	name    string
	summary string
	groups  int  // independent primaries it needs
	acks    bool // needs a replica to wait for
	fenced  bool // its token guards the resource
	claims  func(s *Scenario) checker.Claims
	open    func(e environment) (session, error)
	// checkName says why the lock cannot have a name; nil when it takes any.
	checkName func(name string) error
	// keeps says whether a key may remain when everybody has let go.
	keeps func(name, key string) bool
}

// subjects are the built-in locks, in the order reports show them.
var subjects = []subject{
	textbookLock("setnx", "SETNX without expiry, plain DEL", false, textbook.NewSetNX),
	textbookLock("setnx-expire", "SETNX, then PEXPIRE as a second command, plain DEL", true, textbook.NewSetNXExpire),
	textbookLock("set-px", "SET NX PX, plain DEL by anyone", true, textbook.NewSetPX),
	textbookLock("set-px-check", "SET NX PX with the owner's value, GET then DEL", true, textbook.NewSetPXCheck),
	textbookLock("set-px-watch", "SET NX PX with the owner's value, WATCH, MULTI, DEL, EXEC", true, textbook.NewSetPXWatch),
	textbookLock("set-px-lua", "SET NX PX with the owner's value, compare and delete in a script, spins", true, textbook.NewSetPXLua),
	{
		name: "set-px-renew", summary: "set-px-lua, and a scheduler that extends the lease in its last third", groups: 1,
		claims: func(s *Scenario) checker.Claims {
			c := textbookClaims(s, true)
			c.Renewal, c.LostSign = true, true
			c.RenewEvery = int64(time.Duration(s.Workload.Lease)*2/3 + s.pace(renewScan))
			return c
		},
		open: func(e environment) (session, error) {
			return renewSession{textbookSession{e, nil}, textbook.NewRenewer(e.clients[0], textbook.Options{Lease: e.lease, Scan: paced(renewScan, e.scale), Extensions: renewExtensions})}, nil
		},
		keeps: keepsNothing,
	},
	{
		name: "reentrant", summary: "the reference lock: reentrant, watchdog, pub/sub waits, Redisson's wire format", groups: 1,
		claims: referenceClaims, open: openReference(), checkName: lock.CheckName, keeps: keepsNothing,
	},
	{
		name: "reentrant-wait", summary: "the reference lock, and WAIT for one replica; given back when it does not confirm", groups: 1, acks: true,
		claims: referenceClaims, open: openReference(func(e environment) lock.Option { return lock.WithReplicaAcks(1, paced(ackTimeout, e.scale)) }), checkName: lock.CheckName, keeps: keepsNothing,
	},
	{
		name: "multi", summary: "the reference lock on all of three independent primaries", groups: 3,
		claims: quorumClaims(3, 3), open: openQuorum(func(e environment, thread string, members []lock.Locker) lock.Locker {
			return lock.NewMultiLockWith(groupOptions(e, thread), members...)
		}), checkName: lock.CheckName, keeps: keepsNothing,
	},
	{
		name: "redlock", summary: "the reference lock on a majority of five independent primaries", groups: 5,
		claims: quorumClaims(3, 5), open: openQuorum(func(e environment, thread string, members []lock.Locker) lock.Locker {
			return lock.NewRedLockWith(groupOptions(e, thread), members...)
		}), checkName: lock.CheckName, keeps: keepsNothing,
	},
	{
		name: "fenced", summary: "the reference lock with a fencing token, which the resource checks", groups: 1, fenced: true,
		claims: func(s *Scenario) checker.Claims {
			c := referenceClaims(s)
			c.Fencing = true
			return c
		},
		open: openReference(func(environment) lock.Option { return lock.WithFencing() }), checkName: lock.CheckName,
		keeps: func(name, key string) bool { // the counter outlives the hold, on purpose
			return strings.HasPrefix(key, "redisson_lock_token:")
		},
	},
}

const (
	renewScan       = 2 * time.Second
	renewExtensions = 10
	ackTimeout      = time.Second
	unlockTimeout   = 5 * time.Second // the reference lock's own default
	// defaultPoll and defaultSafetyPoll are how long a waiter goes without
	// looking by itself, where the scenario does not say.
	defaultPoll       = 100 * time.Millisecond
	defaultSafetyPoll = time.Second
)

// Locks returns the names of the built-in locks, in the order reports show them.
func Locks() []string {
	names := make([]string, len(subjects))
	for i, s := range subjects {
		names[i] = s.name
	}
	return names
}

// Summary says in a line what a built-in lock is; "" for an unknown one.
func Summary(name string) string {
	s, err := subjectOf(name)
	if err != nil {
		return ""
	}
	return s.summary
}

// GroupsOf is how many independent primaries a lock needs; 1 for an unknown one.
func GroupsOf(name string) int {
	s, err := subjectOf(name)
	if err != nil {
		return 1
	}
	return s.groups
}

func subjectOf(name string) (subject, error) {
	if i := slices.IndexFunc(subjects, func(s subject) bool { return s.name == name }); i >= 0 {
		return subjects[i], nil
	}
	if name == gallery.FairQueue {
		return fairQueue()
	}
	if m, ok := gallery.Find(name); ok {
		return mutantOf(m)
	}
	return subject{}, fmt.Errorf("unknown lock %q", name)
}

// suits says whether a lock can be played in a scenario at all.
func (s subject) suits(sc *Scenario) (ok bool, reason string) {
	switch {
	case s.acks && sc.Topology.Replicas == 0:
		return false, "there is no replica to wait for"
	case s.groups > 1 && sc.Topology.Cluster:
		return false, "it needs independent primaries, not the slots of one cluster"
	case len(sc.Workload.Nested) > 0 && !s.claims(sc).Reentrant:
		return false, "it is not reentrant"
	}
	if s.checkName != nil {
		if err := s.checkName(sc.withDefaults().Workload.Lock); err != nil {
			return false, err.Error()
		}
	}
	return true, ""
}

func keepsNothing(string, string) bool { return false }

// The claims of the textbook locks, of the reference lock, and of the locks
// made of several.

func textbookClaims(s *Scenario, lease bool) checker.Claims {
	return checker.Claims{Lease: lease, Handoff: s.handoff(defaultPoll), Quorum: 1, Nodes: 1}
}

func referenceClaims(s *Scenario) checker.Claims {
	return checker.Claims{
		Reentrant: true, Lease: true, Renewal: true, LostSign: true, TakesBack: true,
		RenewEvery: int64(s.Workload.Lease) / 3, Handoff: s.handoff(defaultSafetyPoll), Quorum: 1, Nodes: 1,
	}
}

// handoff is how long a waiter may overlook a free lock: as long as it goes
// without looking, and half a second for the requests around it, which a real
// machine does not make in less time because everything else is quicker.
func (s *Scenario) handoff(poll time.Duration) int64 {
	if s.Workload.Handoff > 0 {
		return int64(max(time.Duration(s.Workload.Handoff), 2*longestOperation))
	}
	looks := cmp.Or(time.Duration(s.Workload.Poll), s.pace(poll))
	return int64(looks + max(s.pace(500*time.Millisecond), 2*longestOperation))
}

func quorumClaims(quorum, nodes int) func(*Scenario) checker.Claims {
	return func(s *Scenario) checker.Claims {
		c := referenceClaims(s)
		c.Quorum, c.Nodes = quorum, nodes
		return c
	}
}

// identityOf is what every built-in lock stores for an owner, in Redisson's
// form: the client's id and the thread.
func identityOf(process, thread string) string { return process + ":" + thread }

type textbookSession struct {
	env  environment
	make func(rdb redis.UniversalClient, name, owner string, o textbook.Options) lock.Locker
}

func textbookLock(name, summary string, lease bool, make func(redis.UniversalClient, string, string, textbook.Options) lock.Locker) subject {
	return subject{
		name: name, summary: summary, groups: 1,
		claims: func(s *Scenario) checker.Claims { return textbookClaims(s, lease) },
		open:   func(e environment) (session, error) { return textbookSession{e, make}, nil },
		keeps:  keepsNothing,
	}
}

func (s textbookSession) identity(thread string) string { return identityOf(s.env.process, thread) }
func (s textbookSession) Close() error                  { return nil }

func (s textbookSession) locker(name, thread string) lock.Locker {
	return s.make(s.env.clients[0], name, s.identity(thread), s.options(thread))
}

func (s textbookSession) options(thread string) textbook.Options {
	return textbook.Options{
		Lease: s.env.lease, Poll: cmp.Or(s.env.poll, paced(defaultPoll, s.env.scale)),
		Scan: paced(renewScan, s.env.scale), Extensions: renewExtensions,
		Rand: sim.Stream(s.env.seed, "poll", s.env.process, thread),
	}
}

type renewSession struct {
	textbookSession
	renewer *textbook.Renewer
}

func (s renewSession) locker(name, thread string) lock.Locker {
	return s.renewer.NewLock(name, s.identity(thread), s.options(thread))
}
func (s renewSession) Close() error { return s.renewer.Close() }

// referenceSession is one or several clients of the reference lock.
type referenceSession struct {
	env     environment
	members []*lock.Client
	combine func(e environment, thread string, members []lock.Locker) lock.Locker // nil for a single one
}

func openReference(with ...func(environment) lock.Option) func(environment) (session, error) {
	return func(e environment) (session, error) {
		var opts []lock.Option
		for _, w := range with {
			opts = append(opts, w(e))
		}
		return newReferenceSession(e, nil, opts...)
	}
}

func openQuorum(combine func(environment, string, []lock.Locker) lock.Locker) func(environment) (session, error) {
	return func(e environment) (session, error) { return newReferenceSession(e, combine) }
}

func newReferenceSession(e environment, combine func(environment, string, []lock.Locker) lock.Locker, opts ...lock.Option) (session, error) {
	s := &referenceSession{env: e, combine: combine}
	for i, rdb := range e.clients {
		rng := sim.Stream(e.seed, "lock", e.process, fmt.Sprint(i))
		c, err := lock.New(rdb, append([]lock.Option{lock.WithID(e.process), lock.WithWatchdogTimeout(e.lease),
			lock.WithSafetyPoll(cmp.Or(e.poll, paced(defaultSafetyPoll, e.scale))), lock.WithUnlockTimeout(paced(unlockTimeout, e.scale)),
			lock.WithRand(rng)}, slices.Concat(opts, e.options)...)...)
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, c)
	}
	return s, nil
}

func (s *referenceSession) identity(thread string) string { return identityOf(s.env.process, thread) }

func (s *referenceSession) locker(name, thread string) lock.Locker {
	members := make([]lock.Locker, len(s.members))
	for i, c := range s.members {
		members[i] = c.NewLock(name, thread)
	}
	if s.combine == nil {
		return members[0]
	}
	return s.combine(s.env, thread, members)
}

func groupOptions(e environment, thread string) lock.GroupOptions {
	return lock.GroupOptions{Rand: sim.Stream(e.seed, "rounds", e.process, thread)}
}

// Close implements session.
func (s *referenceSession) Close() error {
	var first error
	for _, c := range s.members {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
