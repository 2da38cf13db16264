// Package takeback is a lock whose acquires leave nothing behind: SET NX PX by a
// script that recognizes its own value. A request goes on when its caller has left,
// and what it was granted is given back when the answer comes, or no answer.
package takeback

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// The errors of a Mutex, for errors.Is.
var (
	ErrTaken   = errors.New("somebody else has the lock")
	ErrUnclear = errors.New("the server may have granted the lock")
	ErrNotHeld = errors.New("the lock is not held any more")
)

const (
	// Poll is the time between two looks of a waiter.
	Poll = 70 * time.Millisecond
	// again is the time between two tries to give back.
	again = 200 * time.Millisecond
)

var (
	acquire = redis.NewScript(`
		local value = redis.call("get", KEYS[1])
		if value and value ~= ARGV[1] then return 0 end
		redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
		return 1`)
	release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis       *redis.Client
	Name, Owner string
	Lease       time.Duration // of an acquire that asks for none
	Rand        *rand.Rand
	Mistake     string // a defect for tests; a right lock has none

	value string
}

// Lock takes the lock, and waits for it until ctx ends. It then returns [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error { return m.LockFor(ctx, m.Lease) }

// LockFor takes the lock with a lease of its own.
func (m *Mutex) LockFor(ctx context.Context, lease time.Duration) error {
	if m.Mistake == "lease-ignored" {
		lease = m.Lease
	}
	for {
		m.value = fmt.Sprintf("%s %016x", m.Owner, m.Rand.Uint64())
		if m.Mistake == "value-of-owner" {
			m.value = m.Owner
		}
		sent := time.Now()
		ok, err := m.try(ctx, m.value, lease)
		switch {
		case err != nil:
			return fmt.Errorf("lock %s: %w", m.Name, err)
		case ok && time.Since(sent) >= lease:
			go m.giveBack(ctx, m.value, lease) // over before it was told: it may have come late, and still keep others out
		case ok:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
		case <-time.After(Poll):
		}
	}
}

type answer struct {
	granted int64
	err     error
}

// try asks once. When ctx ends it returns, and gives back what is granted later.
func (m *Mutex) try(ctx context.Context, value string, lease time.Duration) (bool, error) {
	answered := make(chan answer, 1)
	request, done := context.WithTimeout(context.WithoutCancel(ctx), lease)
	go func() {
		defer done()
		n, err := acquire.Run(request, m.Redis, []string{m.Name}, value, lease.Milliseconds()).Int64()
		answered <- answer{n, err}
	}()
	select {
	case a := <-answered:
		if a.err != nil {
			if m.Mistake != "not-after-error" {
				go m.giveBack(ctx, value, lease)
			}
			return false, fmt.Errorf("%w: %v", ErrUnclear, a.err)
		}
		return a.granted == 1, nil
	case <-ctx.Done():
		if m.Mistake != "not-after-cancel" {
			go func() {
				if a := <-answered; a.err != nil || a.granted == 1 {
					m.giveBack(ctx, value, lease)
				}
			}()
		}
		return false, fmt.Errorf("%w: %v", ErrUnclear, ctx.Err())
	}
}

// giveBack asks until something was given back, or the lease is over. Where nothing
// is there yet, the request may still be on its way.
func (m *Mutex) giveBack(ctx context.Context, value string, lease time.Duration) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lease)
	defer done()
	for ctx.Err() == nil {
		n, err := release.Run(ctx, m.Redis, []string{m.Name}, value).Int64()
		if n == 1 || errors.Is(err, redis.ErrClosed) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), m.Lease)
	defer done()
	n, err := release.Run(ctx, m.Redis, []string{m.Name}, m.value).Int64()
	switch {
	case err != nil && m.Mistake == "swallowed-release":
		return nil
	case err != nil:
		return fmt.Errorf("unlock %s: %w", m.Name, err)
	case n == 0:
		return fmt.Errorf("unlock %s: %w", m.Name, ErrNotHeld)
	}
	return nil
}
