package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

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
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/ticket"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/timestamp"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/wakeup"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/watchdog"
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

func singleLock(mistake string) Lock {
	return Lock{
		Name: "single", Claims: Claims{Waits: true, Cancels: true, Lease: true, Explicit: true, Extends: true, ShutsDown: true},
		Handoff: single.Poll, Reaches: reached,
		Busy: single.ErrTaken, NotHeld: single.ErrNotHeld, Classify: unclear(single.ErrUnclear),
		Open: func(c *Client) (Session, error) {
			s := &leaving{forgets: mistake == "shutdown-forgets"}
			s.opened = opened{connect(c), func(name, owner string) lock.Locker {
				m := &single.Mutex{Redis: s.clients[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake}
				return &Funcs{
					Acquire: func(ctx context.Context) error { return s.took(m, m.Lock(ctx)) }, Extend: m.Extend, Until: m.Until,
					Release:    func(ctx context.Context) error { return s.release(ctx, m) },
					AcquireFor: func(ctx context.Context, lease time.Duration) error { return s.took(m, m.LockFor(ctx, lease)) },
				}
			}}
			return s, nil
		},
	}
}

// leaving is a session that can be shut down.
type leaving struct {
	opened
	mu      sync.Mutex
	held    []*single.Mutex // in the order of their grants
	forgets bool            // to release: a defect for tests
}

func (s *leaving) took(m *single.Mutex, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && !slices.Contains(s.held, m) {
		s.held = append(s.held, m)
	}
	return err
}

// release releases a hold, which a shutdown then leaves alone.
func (s *leaving) release(ctx context.Context, m *single.Mutex) error {
	s.mu.Lock()
	s.held = slices.DeleteFunc(s.held, func(x *single.Mutex) bool { return x == m })
	s.mu.Unlock()
	return m.Unlock(ctx)
}

// Shutdown implements [locks.Leaver].
func (s *leaving) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	held := slices.Clone(s.held)
	s.mu.Unlock()
	var errs []error
	if s.forgets {
		held = nil
	}
	for _, m := range held {
		errs = append(errs, m.Unlock(ctx))
	}
	return errors.Join(append(errs, s.Close())...)
}

func watchdogLock(mistake string) Lock {
	return Lock{
		Name: "watchdog", Claims: Claims{Waits: true, Cancels: true, Lease: true, Renewal: true, LostSign: true}, Handoff: watchdog.Poll, Reaches: reached,
		Busy: watchdog.ErrTaken, Lost: watchdog.ErrLost, Classify: unclear(watchdog.ErrUnclear),
		Open: func(c *Client) (Session, error) {
			all, process := connect(c), new(watchdog.Process)
			return opened{all, func(name, owner string) lock.Locker {
				m := &watchdog.Mutex{Redis: all[0], Name: name, Lease: c.Lease, Rand: c.Rand(owner), Mistake: mistake, Process: process}
				return &Funcs{Acquire: m.Lock, Release: m.Unlock, LostSign: m.Lost}
			}}, nil
		},
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

// plainReentrantLock has no leases of its own.
func plainReentrantLock(mistake string) Lock {
	l := reentrantLock(mistake)
	l.Name, l.Claims.Explicit = "plain-hash", false
	return l
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
		Known: []Known{
			{Scenario: crossedName, Property: "count", Faults: []string{"hold-request"}, Sometimes: true, Because: late},
			{Scenario: crossedName, Property: "linearizable", Faults: []string{"pause"}, Sometimes: true, Because: late},
		},
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
	silent bool // a loss that comes after Close is not reported
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
		Drift:   Drift{Rate: 0.01, Const: 2 * time.Millisecond},
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
		Name: "per-process", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Handoff: perprocess.Poll, Reaches: reached, Known: localMutex,
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

func timestampLock(mistake string) Lock {
	return Lock{
		Name: "timestamp", Claims: Claims{Waits: true, Lease: true}, Holder: HolderNone, Keeps: []string{"{name}"}, Handoff: timestamp.Poll, Reaches: reached,
		Busy: timestamp.ErrTaken, NotHeld: timestamp.ErrNotHeld, Classify: unclear(timestamp.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &timestamp.Mutex{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until}
		}),
	}
}

// ticketLock stores the owner: it hands the lock on in the script of another process.
func ticketLock(mistake string) Lock {
	return Lock{
		Name: "ticket", Claims: Claims{Waits: true, Lease: true, Fairness: true}, StoresOwner: true, Handoff: 2 * ticket.Patience, Reaches: reached,
		Keeps: []string{ticket.Counter("{name}")},
		Holders: func(v View) []Hold {
			if value := v.Text(v.Name); value != "" {
				return []Hold{{Owner: ticket.OwnerOf(value), End: v.End(v.Name)}}
			}
			return nil
		},
		Busy: ticket.ErrTaken, NotHeld: ticket.ErrNotHeld, Classify: unclear(ticket.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &ticket.Mutex{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until}
		}),
	}
}

// late is a weakness of locks whose values stand for an owner, and not for a hold.
const late = "a request that arrives late finds the next hold of its owner, which has the same value"

// localMutex has the weaknesses of a lock whose owners in a process queue for a mutex of
// the process. An owner keeps the mutex until it releases.
var localMutex = []Known{
	{Scenario: crossedName, Property: "progress", Faults: []string{"slow-work"}, Because: "the mutex of the process outlives the lease"},
	{Scenario: crossedName, Property: "linearizable", Because: "an owner in the mutex of the process waits for a request without an answer"},
}
