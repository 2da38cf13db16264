// Package leader is an example of leadership with the reference lock: one of several
// processes leads, and anybody can ask who does. docs/leader.md says what that promises.
package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Candidate is one process that wants to lead. A campaign is an acquire of the lock, and a
// resignation is its release.
type Candidate struct {
	redis redis.UniversalClient
	role  *lock.Reentrant
	name  string
	id    string
}

// New returns a candidate for the role called name. No other candidate may have its id.
// The client of the lock should have fencing, so that each term has a number.
func New(rdb redis.UniversalClient, locks *lock.Client, name, id string) *Candidate {
	return &Candidate{redis: rdb, role: locks.NewLock(name, id), name: name, id: id}
}

// Campaign waits until the candidate leads, or ctx ends. It returns the number of the
// term, which is greater than that of every term before.
func (c *Candidate) Campaign(ctx context.Context) (term uint64, err error) {
	g, err := c.role.Lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("campaign for %s: %w", c.name, err)
	}
	return g.Token, nil
}

// Resign ends the term. It returns [lock.ErrLost] if the leadership was lost before, and
// [lock.ErrUnknown] if no server answered; then the term ends with its lease at the latest.
func (c *Candidate) Resign(ctx context.Context) error {
	if _, err := c.role.Unlock(ctx); err != nil {
		return fmt.Errorf("resign from %s: %w", c.name, err)
	}
	return nil
}

// Lost is closed when the leadership is lost; see [lock.Reentrant.Lost].
func (c *Candidate) Lost() <-chan struct{} { return c.role.Lost() }

// Leader asks the server who leads: the id of a candidate, or "" without a leader. The answer is
// about the past when it arrives. Use it to find the leader, and not to act as one.
func (c *Candidate) Leader(ctx context.Context) (id string, err error) {
	fields, err := c.redis.HKeys(ctx, c.name).Result()
	if err != nil {
		return "", fmt.Errorf("find leader of %s: %w", c.name, err)
	}
	for _, field := range fields { // that of the holder is its client, a colon and the owner
		if _, owner, ok := strings.Cut(field, ":"); ok {
			return owner, nil
		}
	}
	return "", nil
}

// pause is the time between two campaigns after an error.
const pause = time.Second

// Lead leads again and again until ctx ends. Each term calls work, with a context that
// ends when the leadership is lost, and with the number of the term. Whatever work changes
// should refuse a number below the highest that it has seen. The term ends when work
// returns.
func (c *Candidate) Lead(ctx context.Context, work func(ctx context.Context, term uint64) error) error {
	for ctx.Err() == nil {
		err := c.leadOnce(ctx, work)
		if err == nil || errors.Is(err, lock.ErrLost) {
			continue // another may lead now; this one campaigns again
		}
		if errors.Is(err, lock.ErrClosed) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return ctx.Err()
}

func (c *Candidate) leadOnce(ctx context.Context, work func(ctx context.Context, term uint64) error) error {
	term, err := c.Campaign(ctx)
	if err != nil {
		return err
	}
	err = work(c.role.Context(ctx), term)
	return errors.Join(err, c.Resign(ctx))
}
