// Package ownlock is an example of a lock of one's own under test. It has a lock as many
// services have one, and a test that plays Holdfast's catalogue against it.
package ownlock

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
	ErrNotMine = errors.New("the lock is not held by this owner")
)

// poll is the time between two looks of a waiter.
const poll = 50 * time.Millisecond

// release deletes the key if it still holds the owner's value.
var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// Mutex is one owner's view of a lock. Redis keeps the owner's value under the
// lock's name until the owner deletes it or the lease ends.
type Mutex struct {
	rdb         redis.UniversalClient
	name, owner string
	lease       time.Duration
}

// New makes one owner's view of the lock. No other owner may have the same
// string.
func New(rdb redis.UniversalClient, name, owner string, lease time.Duration) *Mutex {
	return &Mutex{rdb: rdb, name: name, owner: owner, lease: lease}
}

// Lock takes the lock, and waits for it until ctx ends. It then returns
// [ErrTaken].
func (m *Mutex) Lock(ctx context.Context) error {
	for {
		taken, err := m.try(ctx)
		if taken || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: %w", m.name, ErrTaken)
		case <-time.After(poll):
		}
	}
}

// TryLock takes the lock if it is free, and returns [ErrTaken] if it is not.
func (m *Mutex) TryLock(ctx context.Context) error {
	taken, err := m.try(ctx)
	if err == nil && !taken {
		err = fmt.Errorf("lock %s: %w", m.name, ErrTaken)
	}
	return err
}

// try takes the lock if it is free.
func (m *Mutex) try(ctx context.Context) (bool, error) {
	set, err := m.rdb.SetNX(ctx, m.name, m.owner, m.lease).Result()
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", m.name, err)
	}
	if set {
		return true, nil
	}
	// When the reply of a SET is late, go-redis sends the SET again. The second
	// one then finds the value of the first.
	value, err := m.rdb.Get(ctx, m.name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("lock %s: %w", m.name, err)
	}
	return value == m.owner, nil
}

// Unlock releases the lock, also when ctx has ended. It returns [ErrNotMine] when
// the lease ended before.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.lease)
	defer cancel()
	deleted, err := release.Run(ctx, m.rdb, []string{m.name}, m.owner).Int()
	if err != nil {
		return fmt.Errorf("unlock %s: %w", m.name, err)
	}
	if deleted == 0 {
		return fmt.Errorf("unlock %s: %w", m.name, ErrNotMine)
	}
	return nil
}
