package ownlock_test

import (
	"testing"
	"time"

	ownlock "github.com/holdfast-go/holdfast/examples/own-lock"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// The reasons for the known violations of the lock.
const (
	resent  = "go-redis sends the script again when its reply is late, and the second one finds nothing to delete"
	refused = "go-redis sends the SET again when its reply is lost, and the second one finds the lock of this very owner"
	patient = "go-redis waits for a late reply longer than a try is to last"
	stale   = "the lock does not look how old a grant is"
	// A value for each hold instead of each owner would mend these two.
	ownValue = "a release that arrives late finds the same owner's next hold, which has the same value"
	foundOwn = "an acquire that finds the owner's value takes what an earlier one, which nobody heard of, left of the lease"
)

// Every scenario of the catalogue that is about such a lock is a subtest.
func TestMutex(t *testing.T) {
	locktest.Run(t, locktest.Lock{
		Name:        "own-lock",
		Claims:      locktest.Claims{Waits: true, Cancels: true, Lease: true},
		Handoff:     50 * time.Millisecond,
		StoresOwner: true,
		Busy:        ownlock.ErrTaken,
		NotHeld:     ownlock.ErrNotMine,
		Known: []locktest.Known{
			{Scenario: "unheard-grant", Property: "progress", Because: patient},
			{Scenario: "stale-grant", Property: "lease", Because: stale},
			{Scenario: "unheard-grant", Property: "linearizable", Because: refused},
			{Scenario: "unheard-grant", Property: "errors", Because: refused},
			{Scenario: "asked-again", Property: "lease", Because: foundOwn},
			{Scenario: "late-own-release", Property: "exclusion", Because: ownValue},
			{Scenario: "late-own-release", Property: "linearizable", Because: ownValue},
			{Scenario: "late-own-release", Property: "resource", Because: ownValue},
			{Scenario: "lost-release-reply", Property: "errors", Because: resent},
			{Scenario: "lost-release-reply", Property: "linearizable", Because: resent},
			{Scenario: "crossed", Property: "count", Faults: []string{"hold-request"}, Because: ownValue},
			{Scenario: "crossed", Property: "errors", Faults: []string{"reset"}, Because: resent},
			{Scenario: "crossed", Property: "linearizable", Faults: []string{"reset"}, Because: resent},
		},
		New: func(c *locktest.Client, name, owner string) lock.Locker {
			m := ownlock.New(c.Redis, name, owner, c.Lease)
			return &locktest.Funcs{Acquire: m.Lock, Try: m.TryLock, Release: m.Unlock}
		},
	})
}
