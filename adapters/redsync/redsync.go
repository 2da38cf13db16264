// Package redsync puts github.com/go-redsync/redsync/v4 to the test, over
// go-redis.
package redsync

import (
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// Lock is redsync on one primary.
func Lock() locktest.Lock {
	l := describe("redsync", "redsync on one primary", 1)
	l.Known = []locktest.Known{
		{Scenario: "lost-release-reply", Property: "errors", Because: sentTwice},
		{Scenario: "lost-release-reply", Property: "linearizable", Because: sentTwice},
		{Scenario: "stale-grant", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "unheard-grant", Property: "progress", Because: patient},
		{Scenario: "lost-acquire-reply", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "kept-away", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "kept-away", Property: "count", Because: patient, Sometimes: true},
		{Scenario: "unheard-grant", Property: "linearizable", Because: askedTwice},
		{Scenario: "unheard-grant", Property: "errors", Because: askedTwice},
		{Scenario: "cancelled-release", Property: "errors", Because: obedient},
		{Scenario: "refused-take-back", Property: "progress", Because: once},
		{Scenario: "refused-take-back", Property: "linearizable", Because: askedTwice},
		{Scenario: "refused-take-back", Property: "errors", Because: askedTwice},
	}
	return l
}

// Majority is redsync on five independent primaries, of which it needs three.
func Majority() locktest.Lock {
	l := describe("redsync-5", "redsync on a majority of five primaries", 5)
	l.Known = []locktest.Known{
		{Scenario: "lost-release-reply", Property: "errors", Because: sentTwice},
		{Scenario: "stale-grant", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "unheard-grant", Property: "progress", Because: patient},
		{Scenario: "lost-acquire-reply", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "redlock-slow-replies", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "kept-away", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "member-black-holed", Property: "progress", Because: patient, Sometimes: true},
		{Scenario: "unheard-grant", Property: "errors", Because: askedTwice, Sometimes: true},
		{Scenario: "asked-again", Property: "errors", Because: canceled},
		{Scenario: "refused-take-back", Property: "errors", Because: once},
	}
	return l
}

// describe says what redsync promises: what the description of Redlock does,
// which its README says that it implements. That includes to unlock every node
// when an acquire fails.
func describe(name, summary string, primaries int) locktest.Lock {
	return locktest.Lock{
		Name: name, Summary: summary, Version: "v4.18.1",
		Claims:  locktest.Claims{Waits: true, Cancels: true, Lease: true, Explicit: true, TakesBack: true},
		Handoff: maxDelay * time.Millisecond, Primaries: primaries, Quorum: quorum(primaries),
		New: open,
	}
}

func quorum(primaries int) int { return primaries/2 + 1 }

func open(c *locktest.Client, name, owner string) lock.Locker {
	var pools []redis.Pool
	for _, rdb := range c.Primaries {
		pools = append(pools, goredis.NewPool(rdb))
	}
	return &locker{rs: redsync.New(pools...), name: name, settings: settings{
		lease: c.Lease, quorum: quorum(len(pools)), rng: c.Rand("redsync", name, owner), scaled: c.Scaled,
	}}
}

// The violations that redsync shows, each with the reason in its source.
const (
	sentTwice = "go-redis sends the script again when its reply is lost, and redsync does not tell a value that its own first " +
		"request has deleted from one that has expired: \"failed to unlock, lock was already expired\" (see redsync #81, #107, #144)."
	canceled = "what lockContext got before it was canceled it releases with the context of its caller, which has ended: " +
		"no request is sent, and one server keeps the value until its lease ends."
	once = "a failed acquire sends one release to each server, and asks no more if that fails: " +
		"a server that refuses the connection at that moment keeps the value until its lease ends."
	obedient   = "UnlockContext sends its script with the context of the caller: one that has ended sends nothing, and the key stays until its lease ends."
	askedTwice = "go-redis sends SET NX again when its reply is lost, and the second one finds the value of this very owner."
	patient    = "redsync leaves the wait for a reply to go-redis, which does not look at the context and sends again: " +
		"an acquire returns long after its wait."
)
