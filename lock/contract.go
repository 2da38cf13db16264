package lock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Every failed operation returns one of these errors; test with errors.Is. If the
// context of a call ends, the call returns the context's error, joined with
// ErrUnknown if a request was open whose outcome is unknown.
var (
	// ErrBusy: another owner held the lock until the wait was over.
	ErrBusy = errors.New("lock: busy")
	// ErrNotHeld: this owner does not hold the lock.
	ErrNotHeld = errors.New("lock: not held by this owner")
	// ErrLost: this owner held the lock and its lease has ended.
	ErrLost = errors.New("lock: lost")
	// ErrUnknown: the server may or may not have executed the request.
	ErrUnknown = errors.New("lock: outcome unknown")
	// ErrRefused: the lock reached no server, or the server answered with an
	// error; no server executed the request.
	ErrRefused = errors.New("lock: refused by the server")
	// ErrAcks: too few replicas confirmed the grant in time, so the lock released it.
	ErrAcks = errors.New("lock: not enough replicas confirmed")
	// ErrClosed: the client is closed.
	ErrClosed = errors.New("lock: client closed")
)

// Locker is one owner's view of one named lock. Owners are explicit values, and
// never derived from goroutines. The methods are safe for concurrent use, but
// two goroutines that share a Locker are one owner and share its holds.
type Locker interface {
	// Lock waits until it gets the lock or ctx ends.
	Lock(ctx context.Context, opts ...AcquireOption) (Grant, error)
	// TryLock waits for at most [Wait], by default not at all, and returns
	// ErrBusy if it did not get the lock by then.
	TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error)
	// Unlock releases one hold and returns how many this owner still has. If
	// ctx has ended, it still tries for a timeout of its own.
	Unlock(ctx context.Context) (remaining int, err error)
}

// LostNotifier is implemented by lockers that notify their holder of a loss.
// The channel belongs to the current hold. It is closed when the hold is lost,
// not when it is released, and nil while nothing is held.
type LostNotifier interface {
	Lost() <-chan struct{}
}

// HoldCounter is implemented by lockers that can ask the server how often their
// owner holds the lock.
type HoldCounter interface {
	HoldCount(ctx context.Context) (int, error)
}

// Grant is the result of a successful acquire.
type Grant struct {
	// Count is the number of holds that the owner has now, 1 or more.
	Count int
	// Token is the fencing token of the hold. It is greater than that of every
	// earlier hold, and the same for every grant within one hold. 0 means none.
	Token uint64
	// Lease is the duration of the hold without a renewal; 0 means for ever. A
	// group of locks states the rest of the lease at its last grant.
	Lease time.Duration
	// Renewed is true if a watchdog renews the hold.
	Renewed bool
	// Until is the end of the hold's validity by the holder's clock. After it
	// another owner may get the lock. Zero means that the lock states none. The
	// locks of this package state it for a hold with a [Lease] of its own.
	Until time.Time
}

// AcquireOption changes one call of Lock or TryLock. A nil one changes nothing.
type AcquireOption func(*Acquire)

// Acquire holds the settings of one acquire. Implementations of [Locker] build
// it with [NewAcquire].
type Acquire struct {
	Lease time.Duration // 0: the lock's default, renewed if the lock has a watchdog
	Wait  time.Duration // the longest wait of TryLock; 0: one attempt

	bounded bool // Wait was given, and may be 0
	hasty   bool // a failed acquire does not wait for the answer to its give-back
	inRound bool // the hold stays in use until its group has all it needs: Close waits for that
}

// NewAcquire applies opts to the zero settings.
func NewAcquire(opts []AcquireOption) Acquire {
	var a Acquire
	for _, opt := range opts {
		if opt != nil {
			opt(&a)
		}
	}
	return a
}

// leaseMax is the longest lease. A server adds its clock to a lease, and refuses a
// sum that is too great for it.
const leaseMax = 100 * 365 * 24 * time.Hour

// checkLease refuses a lease that no server or no owner could count.
func checkLease(d, least time.Duration) error {
	switch {
	case d < least:
		return fmt.Errorf("lock: lease %v is below %v", d, least)
	case d > leaseMax:
		return fmt.Errorf("lock: lease %v is above 100 years", d)
	}
	return nil
}

// Lease requests a hold of duration d without renewal. d must be at least a
// millisecond, and at least 3ms for a [Group], whose allowance for drift uses up a
// shorter one. It must be at most 100 years. 0 means the lock's default.
func Lease(d time.Duration) AcquireOption { return func(a *Acquire) { a.Lease = d } }

// Wait makes TryLock wait for up to d, and limits the wait of [Client.Acquire]
// to d. With 0 or less, both make a single attempt and return [ErrBusy] if somebody else
// has the lock.
func Wait(d time.Duration) AcquireOption {
	return func(a *Acquire) { a.Wait, a.bounded = d, true }
}

// Extender is implemented by lockers whose owner can prolong its hold.
type Extender interface {
	// Extend makes the innermost hold last for at least d from now, and never
	// shortens it. The locks of this package accept 1ms to 100 years. It returns
	// ErrLost or ErrNotHeld if there is no such hold. After ErrUnknown the hold lasts
	// as long as before, or longer.
	Extend(ctx context.Context, d time.Duration) error
}
