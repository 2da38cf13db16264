package lock

import (
	"context"
	"time"
)

// Observer receives the events of a client's locks; see [WithObserver]. Every
// function may be nil. The goroutine that did the work calls them, so they must
// neither block nor call the client.
type Observer struct {
	// AcquireDone: a call that acquires has ended, granted or not. ctx is the caller's,
	// which may carry a span.
	AcquireDone func(ctx context.Context, r AcquireResult)
	// ReleaseDone: a release has ended. ctx is the caller's.
	ReleaseDone func(ctx context.Context, r ReleaseResult)
	// RenewDone: the watchdog has renewed the lock; or it has not, err says why, and it
	// tries again while the lease lasts.
	RenewDone func(name, owner string, err error)
	// Lost: the lease ended, or the server no longer has the hold. held is the time since
	// its first grant.
	Lost func(name, owner string, held time.Duration)

	_ struct{}
}

// AcquireResult is the outcome of an acquire.
type AcquireResult struct {
	Name, Owner string
	Grant       Grant         // the zero value without one
	Took        time.Duration // the duration of the call, with the wait
	Busy        int           // attempts that found the lock held by another owner
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

// complete returns the observer with a function for each event.
func (o Observer) complete() Observer {
	if o.AcquireDone == nil {
		o.AcquireDone = func(context.Context, AcquireResult) {}
	}
	if o.ReleaseDone == nil {
		o.ReleaseDone = func(context.Context, ReleaseResult) {}
	}
	if o.RenewDone == nil {
		o.RenewDone = func(string, string, error) {}
	}
	if o.Lost == nil {
		o.Lost = func(string, string, time.Duration) {}
	}
	return o
}
