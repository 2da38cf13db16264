package lock

import (
	"context"
	"time"
)

// Observer receives the events of a client's locks; see [WithObserver]. Every
// function may be nil. The goroutine that did the work calls them, so they must
// neither block nor call the client.
type Observer struct {
	// Acquired: a hold was granted. count is the owner's hold count now, and
	// waited is the duration of the call, 0 or more.
	Acquired func(name, owner string, count int, waited time.Duration)
	// Busy: an attempt found the lock held by another owner.
	Busy func(name, owner string)
	// Released: the last hold was released after held.
	Released func(name, owner string, held time.Duration)
	// Renewed: the watchdog renewed the lock.
	Renewed func(name, owner string)
	// RenewalFailed: the server did not answer a renewal. The watchdog retries
	// while the lease lasts.
	RenewalFailed func(name, owner string, err error)
	// Lost: the lease ended, or the server no longer has the hold.
	Lost func(name, owner string, held time.Duration)

	// AcquireDone: an acquire has ended, granted or not. ctx is the caller's,
	// which may carry a span.
	AcquireDone func(ctx context.Context, r AcquireResult)
	// ReleaseDone: a release has ended. ctx is the caller's.
	ReleaseDone func(ctx context.Context, r ReleaseResult)

	_ struct{}
}

// AcquireResult is the outcome of an acquire.
type AcquireResult struct {
	Name, Owner string
	Grant       Grant         // the zero value without one
	Took        time.Duration // the duration of the call, with the wait
	Err         error         // nil for a grant; is ErrUnknown if the outcome is unknown

	_ struct{}
}

// ReleaseResult is the outcome of a release.
type ReleaseResult struct {
	Name, Owner string
	Left        int           // remaining holds of the owner
	Held        time.Duration // since the first of them; 0 if nothing was held
	Err         error         // is ErrUnknown if the outcome is unknown

	_ struct{}
}
