// Package lock is a distributed lock on Redis, and the contract that such a
// lock can be held to.
//
// The reference lock, [Client.Do] and [Client.Acquire], makes each call an owner.
// [Client.NewLock] is the same lock for owners with names, which may take it more
// than once. Both are renewed by a watchdog while they are held, wait on pub/sub
// instead of polling, tell their holder when they are lost, and keep Redisson's
// RLock wire format, so that a Go service and a Java service can share one lock.
// [NewMultiLock] and [NewRedLock] combine several of them on independent servers.
//
// What no lock with a lease can promise: that a holder which is paused past
// its lease knows it in time. Guard the resource with the fencing token
// ([WithFencing]) where that matters.
//
// Nor can it take back a request that has not arrived. An acquire that the network
// keeps until its owner has given it up, and until nothing on the server remembers
// that, takes a free lock: nobody has the lock then for one lease. It is never
// renewed. The same may happen to one server of a [RedLock] that was cut off.
package lock

import (
	"context"
	"errors"
	"time"
)

// Each outcome of an operation has one error class; test with errors.Is.
// A context that ended is reported as the context's own error, joined with
// ErrUnknown when a request was under way whose outcome nobody knows.
var (
	// ErrBusy: another owner held the lock until the wait was over.
	ErrBusy = errors.New("lock: busy")
	// ErrNotHeld: this owner does not hold the lock.
	ErrNotHeld = errors.New("lock: not held by this owner")
	// ErrLost: this owner held the lock and its lease has ended.
	ErrLost = errors.New("lock: lost")
	// ErrUnknown: the request may or may not have been carried out.
	ErrUnknown = errors.New("lock: outcome unknown")
	// ErrRefused: no server could be reached, or it answered with an error; the
	// request was not carried out.
	ErrRefused = errors.New("lock: refused by the server")
	// ErrAcks: taken, but fewer replicas than asked confirmed it in time, so
	// it was given back.
	ErrAcks = errors.New("lock: not enough replicas confirmed")
	// ErrClosed: the client has been closed.
	ErrClosed = errors.New("lock: client closed")
)

// Locker is one owner's view of one named lock. Owners are explicit values: an
// implementation never derives them from goroutines. The methods are safe for
// concurrent use, but one owner is one thread of work: two goroutines that
// share a Locker share its holds.
type Locker interface {
	// Lock waits until the lock is granted or ctx ends.
	Lock(ctx context.Context, opts ...AcquireOption) (Grant, error)
	// TryLock waits at most as long as [Wait] says, by default not at all,
	// and returns ErrBusy when the lock was not granted by then.
	TryLock(ctx context.Context, opts ...AcquireOption) (Grant, error)
	// Unlock gives one hold back and returns how many this owner still has.
	// It carries on when ctx is already cancelled, with a timeout of its own.
	Unlock(ctx context.Context) (remaining int, err error)
}

// LostNotifier is implemented by lockers that tell their holder when the hold
// is lost. The channel belongs to the current hold and is closed when the hold
// is lost, not when it is released. It is nil while nothing is held.
type LostNotifier interface {
	Lost() <-chan struct{}
}

// HoldCounter is implemented by lockers that can say how often their owner
// holds the lock on the server.
type HoldCounter interface {
	HoldCount(ctx context.Context) (int, error)
}

// Grant is what a successful acquire returns.
type Grant struct {
	// Count is how often the owner holds the lock now, 1 or more.
	Count int
	// Token is the fencing token of the hold: greater than that of every hold
	// before, the same for every grant within one hold. 0 means none.
	Token uint64
	// Lease is how long the hold lasts unless renewed; 0 means for ever. That
	// of several locks is what is left when the last one was granted.
	Lease time.Duration
	// Renewed says that a watchdog renews the hold.
	Renewed bool
	// Until is the end of the hold's validity by the holder's clock, where the
	// lock names one: from then on another may hold the lock. Zero means that
	// the lock names none.
	Until time.Time
}

// AcquireOption changes one call of Lock or TryLock.
type AcquireOption func(*Acquire)

// Acquire holds the settings of one acquire. Implementations of [Locker] build
// it with [NewAcquire].
type Acquire struct {
	Lease time.Duration // 0: the lock's default, renewed where the lock has a watchdog
	Wait  time.Duration // how long TryLock waits; 0: one try

	bounded bool // by Wait, which may be 0
}

// NewAcquire applies opts to the zero settings.
func NewAcquire(opts []AcquireOption) Acquire {
	var a Acquire
	for _, opt := range opts {
		opt(&a)
	}
	return a
}

// Lease asks for a hold that lasts d and is not renewed. d must be at least a
// millisecond; 0 means the lock's default.
func Lease(d time.Duration) AcquireOption { return func(a *Acquire) { a.Lease = d } }

// Wait makes TryLock wait up to d for the lock, and [Client.Acquire] no longer than
// that. 0 or less means one try.
func Wait(d time.Duration) AcquireOption {
	return func(a *Acquire) { a.Wait, a.bounded = d, true }
}
