// Package zsetqueue is a lock whose waiters queue in a sorted set, by the
// server's time at which they came. The first of the queue holds the lock, and
// the set lives for as long as the lease of the first.
//
// A release takes the first away, and gives the next a lease of its own, which
// begins anew when the next notices. A waiter that died costs a lease when its
// turn comes: the whole set expires then, and the others queue anew. So the lock
// is fair as long as nobody in the queue dies.
//
// A clock that goes back does not put anybody in front of the holder: a place
// is always behind the last one. Requests may be sent twice. An attempt has a
// value of its own, and leaves a receipt for one lease when it is over.
package zsetqueue

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

// enter queues an attempt that does not yet stand in the queue, and returns
// whether it is the first.
var enter = redis.NewScript(`
	local queue, receipt = KEYS[1], KEYS[2]
	if redis.call("exists", receipt) == 1 then return 0 end
	if not redis.call("zscore", queue, ARGV[1]) then
		local time, last = redis.call("time"), redis.call("zrevrange", queue, 0, 0, "withscores")
		local place = time[1] * 1000000 + time[2]
		if last[2] then place = math.max(place, last[2] + 1) end
		redis.call("zadd", queue, string.format("%.0f", place), ARGV[1])
	end
	if redis.call("zrange", queue, 0, 0)[1] ~= ARGV[1] then return 0 end
	redis.call("pexpire", queue, ARGV[2])
	return 1`)

// leave ends an attempt, and returns whether it was the first until then.
var leave = redis.NewScript(`
	local queue, receipt = KEYS[1], KEYS[2]
	local first = redis.call("zrange", queue, 0, 0)[1] == ARGV[1]
	local before = redis.call("exists", receipt)
	redis.call("zrem", queue, ARGV[1])
	if first then redis.call("pexpire", queue, ARGV[2]) end
	if first or ARGV[3] == "waiting" then redis.call("set", receipt, 1, "px", ARGV[2]) end
	if first or before == 1 then return 1 end
	return 0`)

// Mutex is one owner's view of a lock.
type Mutex struct {
	Redis redis.UniversalClient
	Name  string // of the lock, without braces: those are for its slot in a cluster
	Owner string // which no other Mutex has
	Lease time.Duration
	Poll  time.Duration // between two looks of a waiter
	// Untold is a defect for tests: a waiter does not look, and nobody tells it that
	// its turn has come.
	Untold bool

	attempts int
	value    string // of the last attempt
}

func (m *Mutex) keys() []string { return []string{m.Name, "{" + m.Name + "}:over:" + m.value} }

// Lock takes the lock, and waits for it until ctx ends. It then gives up its
// place, and returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	m.attempts++
	m.value = fmt.Sprintf("%s/%d", m.Owner, m.attempts)
	for {
		first, err := enter.Run(ctx, m.Redis, m.keys(), m.value, m.Lease.Milliseconds()).Bool()
		if err != nil {
			return fmt.Errorf("lock %s: %w", m.Name, err)
		}
		if first {
			return nil
		}
		look := time.After(m.Poll)
		if m.Untold {
			look = nil
		}
		select {
		case <-ctx.Done():
			if _, err := m.leave(ctx, "waiting"); err != nil {
				return fmt.Errorf("give up the place at %s: %w", m.Name, err)
			}
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-look:
		}
	}
}

// Unlock gives the lock back, whatever has become of its caller's context.
func (m *Mutex) Unlock(ctx context.Context) error {
	held, err := m.leave(ctx, "holding")
	switch {
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case !held:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}

func (m *Mutex) leave(ctx context.Context, as string) (bool, error) {
	return leave.Run(context.WithoutCancel(ctx), m.Redis, m.keys(), m.value, m.Lease.Milliseconds(), as).Bool()
}
