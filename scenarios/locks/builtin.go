package locks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

// The built-in locks, in the order of reports.
var builtIn = []*Lock{
	textbookLock("setnx", "SETNX without expiry, plain DEL", false, textbook.NewSetNX),
	textbookLock("setnx-expire", "SETNX, then PEXPIRE as a second command, plain DEL", true, textbook.NewSetNXExpire),
	textbookLock("set-px", "SET NX PX, plain DEL by anyone", true, textbook.NewSetPX),
	textbookLock("set-px-check", "SET NX PX with the owner's value, GET then DEL", true, textbook.NewSetPXCheck).with(Habits{Looks: true}),
	textbookLock("set-px-watch", "SET NX PX with the owner's value, WATCH, MULTI, DEL, EXEC", true, textbook.NewSetPXWatch).with(Habits{Looks: true}),
	textbookLock("set-px-lua", "SET NX PX with the owner's value, compare and delete in a script, spins", true, textbook.NewSetPXLua).with(Habits{Scripts: true}),
	{
		name: "set-px-renew", summary: "set-px-lua, and a scheduler that extends the lease in its last third", Groups: 1,
		Claims: textbookClaims(func(c *history.Claims) { c.Renewal, c.LostSign, c.Closes, c.Observes = true, true, true, true }), Habits: Habits{Scripts: true},
		numbers: func(s Setting) history.Terms {
			t := textbookNumbers(s)
			t.RenewEvery = int64(s.Lease*2/3 + s.scaled(renewScan))
			return t
		},
		Open: func(e Environment) (Session, error) {
			return renewSession{textbookSession{e, nil}, textbook.NewRenewer(e.Clients[0], textbook.Options{Lease: e.Lease, Scan: Scaled(renewScan, e.Scale), Extensions: renewExtensions})}, nil
		},
		Keeps: keepsNothing,
	},
	{
		name: "reentrant", summary: "the reference lock: reentrant, watchdog, pub/sub waits, Redisson's wire format", Groups: 1,
		Claims: referenceClaims(func(c *history.Claims) { c.Observes = true }), numbers: referenceNumbers, Habits: Habits{Scripts: true},
		Open: openReference(), CheckName: lock.CheckName, Keeps: keepsNothing,
	},
	{
		name: "reentrant-wait", summary: "the reference lock, and WAIT for one replica; given back when it does not confirm", Groups: 1, Acks: true,
		Claims: referenceClaims(nil), numbers: referenceNumbers, Habits: Habits{Scripts: true},
		Open: openReference(func(e Environment) lock.Option {
			return lock.WithReplicaAcks(max(1, e.Acks), Scaled(ackTimeout, e.Scale))
		}), CheckName: lock.CheckName, Keeps: keepsNothing,
	},
	{
		name: "multi", summary: "the reference lock on all of three independent primaries", Groups: 3,
		Claims: groupClaims, numbers: referenceNumbers, Habits: Habits{Scripts: true},
		Open: openGroup(3, lock.NewMultiLock), CheckName: lock.CheckName, Keeps: keepsNothing,
	},
	{
		name: "redlock", summary: "the reference lock on a majority of five independent primaries", Groups: 5, quorum: 3,
		Claims: groupClaims, numbers: referenceNumbers, Habits: Habits{Scripts: true},
		Open: openGroup(3, lock.NewRedLock), CheckName: lock.CheckName, Keeps: keepsNothing,
	},
	{
		name: "fenced", summary: "the reference lock with a fencing token, which the resource checks", Groups: 1,
		Claims:  referenceClaims(func(c *history.Claims) { c.Fencing, c.Observes = true, true }),
		numbers: referenceNumbers, Habits: Habits{Scripts: true},
		Open: openReference(func(Environment) lock.Option { return lock.WithFencing() }), CheckName: lock.CheckName, Keeps: keepsToken,
	},
	{
		name: "fair", summary: "the reference lock that is fair: granted in order of arrival and handed on, with a fencing token", Groups: 1,
		Claims:  referenceClaims(func(c *history.Claims) { c.Reentrant, c.Fencing, c.Fairness = false, true, true }),
		numbers: referenceNumbers, Habits: Habits{Scripts: true}, // a dead waiter gets the lock before it is free again
		Open: openFair, CheckName: lock.CheckName, Keeps: keepsToken,
	},
	semaphoreZSet(),
	readWrite("read-write", "a hash with the mode of readers or a writer, and the end of each lease, in scripts").
		with(Habits{Scripts: true}).shows(textbook.HoldsOfReadWrite),
	semaphore("semaphore-counter", "INCR up to two permits, PEXPIRE at each grant, plain DECR", true, textbook.NewSemaphoreCounter),
	getSet(),
	semaphoreClock(),
	textbookLock("no-script", "SET NX PX with the owner's value, SET IFEQ PX to extend, DELIFEQ, without a script", true, textbook.NewNoScript).
		sending("DELIFEQ", profile.SetIfEqual).like("set-px-lua", func(c *history.Claims) { c.Extends = true }),
	semaphoreList(),
	semaphoreQuorum(),
}

// getSet is a lock whose key shows the end of a hold, and not whose it is. The key of a dead
// holder stays.
func getSet() *Lock {
	s := textbookLock("getset", "SETNX of the end of the lease by the client's clock, GET and GETSET once it is past", true, textbook.NewGetSet)
	s.holder, s.Habits = HolderNone, Habits{Clock: true}
	s.Keeps = func(name, key string) bool { return key == name }
	return s
}

// smallRedLock is redlock with as few primaries as a majority needs. Exhaustive placement
// plays it, because every primary multiplies the placements. It is in no list;
// [Find] finds it by name.
func smallRedLock() *Lock {
	s := *MustFind("redlock")
	s.Like, s.name, s.summary = s.name, smallRedLockName, "the reference lock on a majority of three independent primaries"
	s.Groups, s.quorum, s.Open = 3, 2, openGroup(2, lock.NewRedLock)
	return &s
}

const smallRedLockName = "redlock-3"

const (
	renewScan       = 2 * time.Second
	renewExtensions = 10
	ackTimeout      = time.Second
	unlockTimeout   = 5 * time.Second // the reference lock's own default
	// DefaultPoll and defaultSafetyPoll are the poll intervals of a waiter, if
	// the scenario gives none.
	DefaultPoll       = 100 * time.Millisecond
	DefaultSafetyPoll = time.Second
	// handoffMargin is for the requests around a poll.
	handoffMargin = 500 * time.Millisecond
)

func keepsNothing(string, string) bool { return false }

// keepsToken accepts the last token, which outlives the hold on purpose.
func keepsToken(_, key string) bool { return strings.HasPrefix(key, "holdfast_lock_token:") }

// textbookClaims are those of a textbook lock with a lease, changed by but.
func textbookClaims(but func(*history.Claims)) history.Claims {
	c := history.Claims{Waits: true, Cancels: true, Lease: true, Explicit: true}
	but(&c)
	return c
}

func textbookNumbers(s Setting) history.Terms {
	return history.Terms{Handoff: s.handoff(DefaultPoll)}
}

// referenceClaims are those of the reference lock, changed by but, if it is not nil.
func referenceClaims(but func(*history.Claims)) history.Claims {
	c := history.Claims{
		Waits: true, Cancels: true, Closes: true, Reentrant: true, Lease: true, Explicit: true, Renewal: true, LostSign: true,
		TakesBack: true, Extends: true, ShutsDown: true, Messages: true, Hardened: true,
	}
	if but != nil {
		but(&c)
	}
	return c
}

// groupClaims are those of a lock made of several: no single message wakes its waiters.
var groupClaims = referenceClaims(func(c *history.Claims) { c.Extends, c.Messages = false, false })

func referenceNumbers(s Setting) history.Terms {
	return history.Terms{
		RenewEvery: int64(s.Lease) / 3, Handoff: s.handoff(DefaultSafetyPoll),
		Drift: &history.Drift{Rate: 0.01, Const: int64(2 * time.Millisecond)},
	}
}

// identityOf is the value that every built-in lock stores for an owner, in Redisson's
// form: the client's id and the thread.
func identityOf(process, thread string) string { return process + ":" + thread }

type textbookSession struct {
	env  Environment
	make func(rdb redis.UniversalClient, name, owner string, o textbook.Options) lock.Locker
}

func textbookLock(name, summary string, lease bool, make func(redis.UniversalClient, string, string, textbook.Options) lock.Locker) *Lock {
	return &Lock{
		name: name, summary: summary, Groups: 1,
		Claims:  textbookClaims(func(c *history.Claims) { c.Lease, c.Explicit = lease, lease }),
		numbers: textbookNumbers,
		Open:    func(e Environment) (Session, error) { return textbookSession{e, make}, nil },
		Keeps:   keepsNothing,
	}
}

// sending says what the lock sends that Redis 7.0 does not know.
func (s *Lock) sending(commands ...string) *Lock {
	s.Sends = commands
	return s
}

// like takes over the expectations of another lock, which has the same claims but for
// some.
func (s *Lock) like(other string, but func(*history.Claims)) *Lock {
	s.Like = other
	but(&s.Claims)
	return s
}

// with sets the habits of the lock.
func (s *Lock) with(h Habits) *Lock {
	s.Habits = h
	return s
}

func (s textbookSession) Identity(thread string) string { return identityOf(s.env.Process, thread) }
func (s textbookSession) Close() error                  { return nil }

func (s textbookSession) Locker(name, thread string) lock.Locker {
	return s.ShareLocker(name, thread, history.Share{})
}

// ShareLocker implements [Sharer] for semaphores.
func (s textbookSession) ShareLocker(name, thread string, share history.Share) lock.Locker {
	o := s.options(thread)
	o.Takes = share.Permits
	return s.make(s.env.Clients[0], name, s.Identity(thread), o)
}

func (s textbookSession) options(thread string) textbook.Options {
	return textbook.Options{
		Lease: s.env.Lease, Poll: cmp.Or(s.env.Poll, Scaled(DefaultPoll, s.env.Scale)),
		Scan: Scaled(renewScan, s.env.Scale), Extensions: renewExtensions, Permits: semaphorePermits, Now: s.env.Now,
		Rand: random.Stream(s.env.Seed, "poll", s.env.Process, thread),
	}
}

type renewSession struct {
	textbookSession
	renewer *textbook.Renewer
}

func (s renewSession) Locker(name, thread string) lock.Locker {
	return s.renewer.NewLock(name, s.Identity(thread), s.options(thread))
}
func (s renewSession) Close() error { return s.renewer.Close() }

// Observer implements [Observer].
func (s renewSession) Observer(name, _ string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		holder, err := s.env.Clients[0].Get(ctx, name).Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return holder, err
	}
}

// referenceSession is a client of the reference lock.
type referenceSession struct {
	env     Environment
	clients []*lock.Client // one
}

func openReference(with ...func(Environment) lock.Option) func(Environment) (Session, error) {
	return func(e Environment) (Session, error) {
		var opts []lock.Option
		for _, w := range with {
			opts = append(opts, w(e))
		}
		clients, err := newClients(e, e.Process, "0", opts...)
		return &referenceSession{env: e, clients: clients}, err
	}
}

func (s *referenceSession) Identity(thread string) string { return identityOf(s.env.Process, thread) }

func (s *referenceSession) Locker(name, thread string) lock.Locker {
	return s.clients[0].NewLock(name, thread)
}

// Observer implements [Observer].
func (s *referenceSession) Observer(name, _ string) func(context.Context) (string, error) {
	return observeHash(s.env.Clients[0], name)
}

// observeHash asks for the owner in the hash of a reference lock, whose other fields have no
// colon.
func observeHash(rdb redis.UniversalClient, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		fields, err := rdb.HKeys(ctx, name).Result()
		for _, f := range fields {
			if strings.Contains(f, ":") {
				return f, err
			}
		}
		return "", err
	}
}

// Shutdown implements [Leaver].
func (s *referenceSession) Shutdown(ctx context.Context) error { return shutdown(ctx, s.clients, 1) }

// Close implements [Session].
func (s *referenceSession) Close() error { return closeAll(s.clients) }

func closeAll(clients []*lock.Client) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// shutdown shuts clients down concurrently: each may wait for its server. needed of them
// must succeed.
func shutdown(ctx context.Context, clients []*lock.Client, needed int) error {
	errs := make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { errs[i] = c.Shutdown(ctx) })
	}
	all.Wait()
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(clients)-len(failed) >= needed {
		return nil
	}
	return errors.Join(failed...)
}
