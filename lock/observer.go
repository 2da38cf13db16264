package lock

import (
	"context"
	"time"
)

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

	// AcquireDone: a call that acquires has ended, granted or not. ctx is the
	// caller's, which may carry a span.
	AcquireDone func(ctx context.Context, r AcquireResult)
	// ReleaseDone: a call that releases has ended. ctx is the caller's.
	ReleaseDone func(ctx context.Context, r ReleaseResult)

	_ struct{}
}

// AcquireResult is how a call that acquires has ended.
type AcquireResult struct {
	Name, Owner string
	Grant       Grant         // the zero value without one
	Took        time.Duration // the call, waiting included
	Err         error         // nil for a grant; is ErrUnknown when nobody knows the outcome

	_ struct{}
}

// ReleaseResult is how a call that releases has ended.
type ReleaseResult struct {
	Name, Owner string
	Left        int           // holds of the owner that are left
	Held        time.Duration // since the first of them; 0 when nothing was held
	Err         error         // is ErrUnknown when nobody knows the outcome

	_ struct{}
}
