package textbook

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type semaphoreCounter struct{ Spin }

// NewSemaphoreCounter counts its permits: INCR takes one, and above the limit DECR gives
// it back and the semaphore is busy. Each grant sets the expiry of the counter. The
// release is DECR. This is the common limit on concurrent requests and jobs. Infisical
// (pull request 6467) and llm-d-async (issue 335) had such counters, whose expiry ended
// permits in use.
//
// Its mistakes: the counter has no owners, and one expiry for all permits. A grant sets
// it anew, so the permit of a dead holder stays taken while others come, and a shorter
// lease ends all permits. DECR after the expiry gives back the permit of another holder,
// or leaves -1 without expiry, which is a permit too many. A repeated command counts
// twice. And a client between INCR and DECR keeps others away from a free permit. Its
// DECR leaves -1 as well, if the expiry comes before it.
func NewSemaphoreCounter(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &semaphoreCounter{NewSpin(rdb, name, owner, o)}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		taken, err := rdb.Incr(ctx, name).Result()
		switch {
		case err != nil:
			return false, err
		case taken > int64(l.opts.Permits):
			return false, rdb.Decr(ctx, name).Err()
		}
		if err := rdb.PExpire(ctx, name, lease).Err(); err != nil {
			return false, err // and the permit stays taken
		}
		return true, nil
	}
	return l
}

// Unlock gives back the permit of any holder, or makes one more.
func (l *semaphoreCounter) Unlock(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := l.rdb.Decr(ctx, l.name).Err(); err != nil {
		return 0, unknown(ctx, err)
	}
	return 0, nil
}
