package ownlock_test

import (
	"testing"
	"time"

	ownlock "github.com/holdfast-go/holdfast/examples/own-lock"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// resent is what the lock is known for.
const resent = "go-redis sends the script again when its reply is late, and the second one finds nothing to delete"

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
			{Scenario: "lost-acquire-reply", Property: "progress", Because: "go-redis waits for a late reply longer than a try is to last"},
			{Scenario: "lost-release-reply", Property: "errors", Because: resent},
			{Scenario: "lost-release-reply", Property: "linearizable", Because: resent},
		},
		New: func(c *locktest.Client, name, owner string) lock.Locker {
			m := ownlock.New(c.Redis, name, owner, c.Lease)
			return &locktest.Funcs{Acquire: m.Lock, Try: m.TryLock, Release: m.Unlock}
		},
	})
}
