// Package reported has locks with the mistakes that people reported in public, each
// beside its right twin: the same design without the mistake. A file has one design.
// A mistake is named after the library and the number of the report.
package reported

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of these locks, for errors.Is.
var (
	ErrTaken   = errors.New("somebody else has the lock")
	ErrNotHeld = errors.New("the lock is not held")
	ErrLost    = errors.New("the lock was lost")
	ErrUnclear = errors.New("the server may have granted the lock, or taken it back")
)

const (
	// Poll is the time between two looks of a waiter.
	Poll = 80 * time.Millisecond
	// again is the time between two tries of a renewal or a release that failed.
	again = 200 * time.Millisecond
	// request bounds one request.
	request = time.Second
	// grace is what a request that is on its way when the wait ends has left for its
	// answer: without one nobody knows whether the lock was granted.
	grace = 200 * time.Millisecond
)

var (
	release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	extend  = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
)

// answered is ctx for one request: the end of the wait does not cut it off.
func answered(ctx context.Context) (context.Context, context.CancelFunc) {
	until, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	longer, cancel := context.WithDeadline(context.WithoutCancel(ctx), until.Add(grace))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}

// failed is the error of an acquire whose request failed.
func failed(ctx context.Context, name string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("lock %s: %w", name, ctx.Err())
	}
	return fmt.Errorf("lock %s: %w: %v", name, ErrUnclear, err)
}

// over is the error of an acquire whose wait has ended.
func over(ctx context.Context, name string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("lock %s: %w", name, ctx.Err())
	}
	return fmt.Errorf("lock %s: %w", name, ErrTaken)
}

// late is the error of an acquire whose grant is told when its lease is over. The
// request may have come late, and still keep others out.
func late(name string) error {
	return fmt.Errorf("lock %s: %w: the lease was over before it was told", name, ErrUnclear)
}

// giveBack asks for a release until it has an answer, or the lease is over. An error
// of the first request makes the absence of the hold a matter of doubt.
func giveBack(ctx context.Context, name string, lease time.Duration, gone error, ask func(context.Context) (int64, error)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease)
	defer cancel()
	var first error
	for {
		one, done := context.WithTimeout(ctx, request)
		n, err := ask(one)
		done()
		switch {
		case err == nil && n == 1:
			return nil
		case err == nil && first != nil:
			return fmt.Errorf("unlock %s: asked twice: %w: %w", name, ErrUnclear, first)
		case err == nil:
			return fmt.Errorf("unlock %s: %w", name, gone)
		case first == nil:
			first = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("unlock %s: %w: %w", name, ErrUnclear, first)
		case <-time.After(again):
		}
	}
}
