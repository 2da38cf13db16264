// Package rueidislock puts github.com/redis/rueidis/rueidislock to the test, on
// real servers: miniredis does not know CLIENT TRACKING, which wakes its
// waiters.
package rueidislock

import (
	"errors"
	"time"

	"github.com/redis/rueidis/rueidislock"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// Lock is rueidislock with one key on one primary. Its README promises that a holder gets
// an immediate notice when it does not hold the lock any more, "Redis are down" included.
// It also promises that waiters try again immediately.
func Lock() locktest.Lock {
	return locktest.Lock{
		Name: "rueidislock", Summary: "rueidislock with one key, renewed, woken by client-side caching", Version: "v1.0.79",
		Claims: locktest.Claims{
			Waits: true, Cancels: true, Closes: true, Lease: true, Renewal: true, LostSign: true, TakesBack: true,
		},
		RenewEvery: 0.51, // by default it extends twice in a validity
		Handoff:    100 * time.Millisecond,
		Key:        "rueidislock:0:{name}",
		Known: []locktest.Known{
			{Scenario: "partitioned-holder", Property: "exclusion", Because: toldLate},
			{Scenario: "partitioned-holder", Property: "resource", Because: toldLate},
			{Scenario: "slow-link-then-cut", Property: "exclusion", Because: toldLate},
			{Scenario: "slow-link-then-cut", Property: "resource", Because: toldLate},
			{Scenario: "clock-jump", Property: "errors", Because: clientsClock},
			{Scenario: "shutdown", Property: "errors", Because: closed},
			{Scenario: "shutdown", Property: "linearizable", Because: closed},
		},
		Open: func(c *locktest.Client) (locktest.Session, error) {
			if c.Access == nil {
				return nil, errors.New("rueidislock needs real servers: there is no CLIENT TRACKING in virtual time")
			}
			client, err := open(*c.Access, c.Lease)
			if err != nil {
				return nil, err
			}
			return session{client, c.Lease}, nil
		},
	}
}

type session struct {
	client rueidislock.Locker
	lease  time.Duration
}

// Locker implements [locktest.Session].
func (s session) Locker(name, _ string) lock.Locker {
	return &locker{client: s.client, name: name, lease: s.lease}
}

// Close implements [locktest.Session].
func (s session) Close() error {
	s.client.Close()
	return nil
}

// The violations that rueidislock shows, each with the reason in its source.
const (
	toldLate = "The context of a hold ends when a renewal has failed. One that is not answered fails when the lease it asks " +
		"for would have ended, half a validity after the lease that the server has (lock.go, monitoring and script)."
	clientsClock = "A lease ends at a time by the client's clock (SET PXAT). While the server's clock is ahead by more than a validity, every " +
		"acquire is granted and nothing is held. The function that releases a hold returns nothing, and so cannot tell (lock.go, try)."
	closed = "Close ends the contexts of all holds and closes the client in one go: the deletions that the ends call for find the " +
		"client closed, and the keys stay for the rest of the validity (lock.go, Close and monitoring)."
)
