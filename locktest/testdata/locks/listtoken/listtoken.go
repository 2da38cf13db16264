// Package listtoken is a lock whose token is passed on through a list: a release
// pushes it, and those that wait stand in Redis' own queue, in BLPOP.
//
// The token is an invitation and not the hold. Who holds the lock is a key with
// the holder's lease, which only who finds it absent sets. So a token that gets
// lost with a client costs time and never the lock: a waiter looks again by
// itself when the lease that it has seen is over, and at least every Poll. For
// the same reason somebody who comes between a push and the take that follows
// may be first: the lock is not fair.
//
// Requests may be sent twice. An attempt has a value of its own, and an attempt
// that is over leaves a receipt for one lease: a release that comes again
// succeeds again, and an attempt that comes late takes nothing.
package listtoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("somebody else has the lock")
	ErrNotHeld = errors.New("the lock is not held any more")
)

// take makes an attempt the holder if there is none, and returns 0; else it
// returns for how many milliseconds the holder has the lock.
var take = redis.NewScript(`
	local holder, token, receipt = KEYS[1], KEYS[2], KEYS[3]
	if redis.call("exists", receipt) == 1 then return 1 end
	local has = redis.call("get", holder)
	if has and has ~= ARGV[1] then return math.max(redis.call("pttl", holder), 1) end
	redis.call("set", holder, ARGV[1], "px", ARGV[2])
	redis.call("del", token)
	return 0`)

// release ends an attempt, and returns whether it held the lock until then.
var release = redis.NewScript(`
	local holder, token, receipt = KEYS[1], KEYS[2], KEYS[3]
	if redis.call("get", holder) ~= ARGV[1] then return redis.call("exists", receipt) end
	redis.call("del", holder)
	redis.call("set", receipt, 1, "px", ARGV[2])
	redis.call("del", token)
	redis.call("rpush", token, "token")
	redis.call("pexpire", token, ARGV[2])
	return 1`)

// Mutex is one owner's view of a lock.
type Mutex struct {
	Redis redis.UniversalClient
	Name  string // of the lock, without braces: those are for its slot in a cluster
	Owner string // which no other Mutex has
	Lease time.Duration
	Poll  time.Duration // how long a waiter goes without looking

	attempts int
	value    string // of the last attempt
}

// keys are the holder's key, the list of the token, and the receipt.
func (m *Mutex) keys() []string {
	return []string{m.Name, "{" + m.Name + "}:token", "{" + m.Name + "}:over:" + m.value}
}

// Lock takes the lock, and waits for it until ctx ends. It then returns
// [ErrTaken], at most Poll later.
func (m *Mutex) Lock(ctx context.Context) error {
	m.attempts++
	m.value = fmt.Sprintf("%s/%d", m.Owner, m.attempts)
	for {
		left, err := take.Run(ctx, m.Redis, m.keys(), m.value, m.Lease.Milliseconds()).Int64()
		if err != nil {
			return fmt.Errorf("lock %s: %w", m.Name, err)
		}
		if left == 0 {
			return nil
		}
		wait := min(time.Duration(left)*time.Millisecond, m.Poll)
		if end, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(end))
		}
		if ctx.Err() != nil || wait <= 0 {
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		}
		// Whatever comes of it, the next look says who has the lock.
		_, err = m.Redis.Do(ctx, "blpop", m.keys()[1], max(wait, time.Millisecond).Seconds()).Result()
		if err != nil && !errors.Is(err, redis.Nil) && ctx.Err() == nil {
			return fmt.Errorf("wait for %s: %w", m.Name, err)
		}
	}
}

// Unlock gives the lock back, whatever has become of its caller's context.
func (m *Mutex) Unlock(ctx context.Context) error {
	held, err := release.Run(context.WithoutCancel(ctx), m.Redis, m.keys(), m.value, m.Lease.Milliseconds()).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case held == 0:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}
