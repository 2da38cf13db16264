package locktest_test

import (
	"context"
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// A lock with methods Lock(ctx) and Unlock(ctx) error is under test in a dozen lines. It
// needs errors for a taken lock and for one that is not its owner's.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestLock(t *testing.T)
		locktest.Run(t, locktest.Lock{
			Claims: locktest.Claims{Waits: true, Cancels: true, Lease: true},
			Busy:   errTaken, NotHeld: errGone,
			New: func(c *locktest.Client, name, owner string) lock.Locker {
				m := &mutex{rdb: c.Redis, name: name, value: owner, ttl: c.Lease}
				return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
			},
		})
	}
}

// A few scenarios with many seeds, and what the lock is known for.
func ExampleScenarios() {
	_ = func(t *testing.T) {
		locktest.Run(t, locktest.Lock{
			Claims: locktest.Claims{Waits: true, Lease: true},
			Known:  []locktest.Known{{Scenario: "lost-acquire-reply", Property: "errors", Because: "#12: go-redis sends the SET again"}},
			New: func(c *locktest.Client, name, owner string) lock.Locker {
				m := &mutex{rdb: c.Redis, name: name, value: owner, ttl: c.Lease}
				return &locktest.Funcs{Acquire: m.Lock, Release: m.Unlock}
			},
		}, locktest.Scenarios("holder-pause", "lost-acquire-reply"), locktest.Seeds(100))
	}
}

// A lock with a state of its own in each process has a Session. Here it is the reference
// lock, which implements the contract of package lock itself.
func ExampleLock_session() {
	_ = func(t *testing.T) { locktest.Run(t, reference) }
}

// The main function of a program that plays the same lock on real servers:
//
//	holdfast run --world live --adapter ./mylock-worker
func ExampleServe() {
	main := func() {
		if err := locktest.Serve(context.Background(), os.Stdin, os.Stdout, reference); err != nil {
			os.Exit(1)
		}
	}
	_ = main
}

var reference = locktest.Lock{
	Name: "reference",
	Claims: locktest.Claims{
		Waits: true, Cancels: true, Closes: true, Reentrant: true, Lease: true, Explicit: true, Renewal: true,
		LostSign: true, TakesBack: true, Messages: true,
	},
	StoresOwner: true,
	Open: func(c *locktest.Client) (locktest.Session, error) {
		client, err := lock.New(c.Redis, lock.WithWatchdogTimeout(c.Lease), lock.WithID(c.ID), lock.WithRand(c.Rand()))
		return referenceSession{client}, err
	},
}

type referenceSession struct{ *lock.Client }

func (s referenceSession) Locker(name, owner string) lock.Locker { return s.NewLock(name, owner) }
