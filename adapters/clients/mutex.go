// Package clients has one lock on three Redis clients other than go-redis 9:
// rueidis, redigo and go-redis 8. Each is made from options, with the address and
// the dial hook of a run, and closed with the session. [Holdfast's guide] shows how.
//
// [Holdfast's guide]: https://github.com/holdfast-go/holdfast/blob/main/docs/test-your-own-lock.md
package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// The errors of a mutex, for errors.Is.
var (
	errTaken   = errors.New("somebody else has the lock")
	errNotHeld = errors.New("the lock is not held any more")
	errUnclear = errors.New("the server may have carried the request out")
)

const (
	// poll is the time between two looks of a waiter.
	poll = 60 * time.Millisecond
	// request bounds one request. It is longer than the wait of a single try, as the
	// outcome of a request that was cut off is unknown.
	request = 500 * time.Millisecond
)

// release deletes the key of a lock if it still has a value.
const release = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

// commands are the methods that the lock needs of a client. None is sent twice.
type commands interface {
	// set sets a key that is not there, with an expiry.
	set(ctx context.Context, key, value string, lease time.Duration) (bool, error)
	// release runs the script of that name.
	release(ctx context.Context, key, value string) (int64, error)
	Close() error
}

// mutex is one owner's view of a lock: SET NX PX with a random value.
type mutex struct {
	commands
	name  string
	lease time.Duration
	rand  *rand.Rand

	value string
}

// lock takes the lock, and waits for it until ctx ends. It then returns errTaken.
func (m *mutex) lock(ctx context.Context) error {
	m.value = fmt.Sprintf("%016x%016x", m.rand.Uint64(), m.rand.Uint64())
	for {
		sent := time.Now()
		asking, done := answered(ctx)
		ok, err := m.set(asking, m.name, m.value, m.lease)
		done()
		switch {
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
			return fmt.Errorf("lock %s: %w: %w", m.name, errUnclear, ctx.Err())
		case err != nil:
			return fmt.Errorf("lock %s: %w: %w", m.name, errUnclear, err)
		case ok && time.Since(sent) < m.lease:
			return nil
		case ok: // others were kept out for a while
			return fmt.Errorf("lock %s: the lease was over before the grant arrived: %w", m.name, errUnclear)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.name, errTaken)
		case <-time.After(poll):
		}
	}
}

// unlock gives the lock back, also when ctx has ended.
func (m *mutex) unlock(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), request)
	defer done()
	n, err := m.release(ctx, m.name, m.value)
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w: %w", m.name, errUnclear, err)
	case n == 0:
		return fmt.Errorf("unlock %s: %w", m.name, errNotHeld)
	}
	return nil
}

// answered is a context for one request: the end of the wait does not cut it off,
// and a caller that leaves does.
func answered(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), request)
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}
