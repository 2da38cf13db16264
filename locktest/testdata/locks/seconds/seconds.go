// Package seconds is a lock with leases of whole seconds, as cron jobs have them:
// SET NX EX, and a transaction that deletes the key if it still has the owner's
// value. It does not wait.
package seconds

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
	ErrUnclear = errors.New("the server may have granted the lock")
	ErrNotHeld = errors.New("the lock is not held any more")
)

// Mutex is one owner's view of a lock. Its client must not send a command twice.
type Mutex struct {
	Redis       *redis.Client
	Name, Owner string
	Seconds     int // of the lease
	Mistake     string

	holds int
}

// Whole is a lease in seconds, rounded up.
func Whole(lease time.Duration) int { return int((lease + time.Second - 1) / time.Second) }

// value is different for each hold.
func (m *Mutex) value() string {
	return fmt.Sprintf("%s#%d", m.Owner, m.holds)
}

// TryLock takes the lock, or returns [ErrTaken].
func (m *Mutex) TryLock(ctx context.Context) error {
	m.holds++
	args := []any{"set", m.Name, m.value(), "ex", m.Seconds, "nx"}
	switch m.Mistake {
	case "seconds-as-milliseconds":
		args[3] = "px"
	case "milliseconds-as-seconds":
		args[4] = m.Seconds * 1000
	case "second-short":
		args[4] = max(1, m.Seconds-1)
	case "no-nx":
		args = args[:5]
	}
	sent := time.Now()
	err := m.Redis.Do(ctx, args...).Err()
	switch {
	case errors.Is(err, redis.Nil) && m.Mistake == "nil-is-grant":
		return nil
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("lock %s: %w", m.Name, ErrTaken)
	case err != nil:
		return fmt.Errorf("lock %s: %w", m.Name, err)
	case time.Since(sent) >= time.Duration(m.Seconds)*time.Second:
		return fmt.Errorf("lock %s: the lease was over before it was told: %w", m.Name, ErrUnclear)
	}
	return nil
}

// Unlock gives the lock back, also when ctx has ended.
func (m *Mutex) Unlock(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := m.Redis.Watch(ctx, func(tx *redis.Tx) error {
		value, err := tx.Get(ctx, m.Name).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if value != m.value() && m.Mistake != "owner-unchecked" {
			return ErrNotHeld
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, m.Name)
			return nil
		})
		return err
	}, m.watched()...)
	switch {
	case errors.Is(err, redis.TxFailedErr): // the key changed: it had ended
		err = ErrNotHeld
	case err == nil:
		return nil
	}
	return fmt.Errorf("unlock %s: %w", m.Name, err)
}

func (m *Mutex) watched() []string {
	if m.Mistake == "nothing-watched" {
		return nil
	}
	return []string{m.Name}
}
