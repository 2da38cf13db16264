package lock

import "time"

// Observer is told what the locks of a client go through; see [WithObserver].
// Every function may be nil. They are called by the goroutine that did the
// work, so they must not block, nor call the client.
type Observer struct {
	// Acquired: a hold was granted. count is the owner's hold count now, and
	// waited is how long the call took, 0 or more.
	Acquired func(name, owner string, count int, waited time.Duration)
	// Busy: a try found the lock held by another owner.
	Busy func(name, owner string)
	// Released: the last hold was given back after held.
	Released func(name, owner string, held time.Duration)
	// Renewed: the watchdog renewed the lock.
	Renewed func(name, owner string)
	// RenewalFailed: a renewal was not answered. It is tried again while the
	// lease lasts.
	RenewalFailed func(name, owner string, err error)
	// Lost: the lease ended, or the server no longer knows the hold.
	Lost func(name, owner string, held time.Duration)

	_ struct{}
}
