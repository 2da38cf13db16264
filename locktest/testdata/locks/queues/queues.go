// Package queues declares the locks whose waiters queue in Redis, for both worlds.
package queues

import (
	"cmp"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/listtoken"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/zsetqueue"
)

// sendsAgain is what a lock is known for whose client sends a command again when
// its reply is late.
var sendsAgain = []locktest.Known{
	{Scenario: "stale-grant", Property: "lease", Because: "the lock believes a grant whose lease may have ended on the way"},
	{Scenario: "kept-away", Property: "linearizable", Because: gaveUp},
	{Scenario: "refused-acquire", Property: "linearizable", Because: gaveUp},
	{Scenario: "unheard-grant", Property: "linearizable", Because: gaveUp},
	{Scenario: "unheard-grant", Property: "progress", Because: late},
	{Scenario: "unheard-grant", Property: "errors", Because: gaveUp},
	{Scenario: "lost-acquire-reply", Property: "linearizable", Because: gaveUp},
	{Scenario: "lost-acquire-reply", Property: "errors", Because: gaveUp},
}

const (
	late   = "go-redis waits for a late reply longer than an acquire is to last"
	gaveUp = "the lock calls the lock busy where its request was never answered"
)

// OfList passes a token on through a list. Its hold is a string.
var OfList = locktest.Lock{
	Name:   "listtoken",
	Claims: locktest.Claims{Waits: true, Lease: true}, Handoff: time.Second,
	Known: sendsAgain,
	Busy:  listtoken.ErrTaken, NotHeld: listtoken.ErrNotHeld,
	New: func(c *locktest.Client, name, owner string) lock.Locker {
		m := &listtoken.Mutex{Redis: c.Redis, Name: name, Owner: owner, Lease: c.Lease, Poll: cmp.Or(c.Poll, c.Scaled(time.Second))}
		return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
	},
}

// OfSortedSet queues in a sorted set, whose first member holds the lock.
var OfSortedSet = locktest.Lock{
	Name: "zsetqueue", Holder: locktest.HolderLowest,
	Claims: locktest.Claims{Waits: true, Cancels: true, Lease: true}, Handoff: 100 * time.Millisecond,
	Known: append([]locktest.Known{{Scenario: "neighbour-dies", Property: "lease", Because: "a release gives the next one its own lease, until that one notices"}}, sendsAgain...),
	Busy:  zsetqueue.ErrTaken, NotHeld: zsetqueue.ErrNotHeld,
	New: func(c *locktest.Client, name, owner string) lock.Locker {
		m := &zsetqueue.Mutex{Redis: c.Redis, Name: name, Owner: owner, Lease: c.Lease, Poll: cmp.Or(c.Poll, c.Scaled(100*time.Millisecond))}
		return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
	},
}
