// Package redislock puts github.com/bsm/redislock to the test.
package redislock

import (
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// backoff is the time between two tries. redislock has no default for it: it does not
// retry without such an option.
const backoff = 100 * time.Millisecond

// Lock is redislock, with a linear backoff. It promises to take nothing back: an
// Obtain that is given up may leave its key behind.
func Lock() locktest.Lock {
	return locktest.Lock{
		Name: "redislock", Summary: "bsm/redislock, which tries again every 100 ms", Version: "v0.9.4",
		Claims:  locktest.Claims{Waits: true, Cancels: true, Lease: true, Explicit: true, Extends: true},
		Handoff: backoff,
		Known: []locktest.Known{
			{Scenario: "lost-release-reply", Property: "errors", Because: sentTwice},
			{Scenario: "lost-release-reply", Property: "linearizable", Because: sentTwice},
			{Scenario: "cancelled-release", Property: "errors", Because: obedient},
			{Scenario: "stale-grant", Property: "lease", Because: stale},
			{Scenario: "stale-grant", Property: "exclusion", Because: stale, Sometimes: true},
			{Scenario: "stale-grant", Property: "progress", Because: patient, Sometimes: true},
			{Scenario: "kept-away", Property: "progress", Because: patient, Sometimes: true},
			{Scenario: "unheard-grant", Property: "progress", Because: patient},
			{Scenario: "lost-acquire-reply", Property: "progress", Because: patient, Sometimes: true},
		},
		New: func(c *locktest.Client, name, owner string) lock.Locker {
			return &locker{rdb: c.Redis, name: name, settings: settings{lease: c.Lease, backoff: c.Scaled(backoff), rng: c.Rand("redislock", name, owner)}}
		},
	}
}

// The violations that redislock shows, with the reason in its source.
const (
	sentTwice = "go-redis sends the script again when its reply is lost, and the second finds nothing to delete: " +
		"Release returns ErrLockNotHeld for a lock that it has released."
	patient = "Obtain leaves the wait for a reply to go-redis, which does not look at the context and sends again: " +
		"an acquire returns long after its wait."
	obedient = "Release runs its script with the context of the caller: one that has ended sends nothing, and the key stays until its lease ends."
	stale    = "Obtain does not look how old the grant is when its reply comes."
)
