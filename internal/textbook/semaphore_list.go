package textbook

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

type semaphoreList struct {
	Spin
	token string // of the last acquire
}

// NewSemaphoreList keeps its free permits as tokens in a list. LPOP takes one, and RPUSH
// gives it back. The first client sets a key beside the list, and fills the list. Posts show
// this semaphore, often with BLPOP for the wait.
//
// Its mistakes: a permit has no lease, so the token of a dead holder is lost for ever. So is
// one whose LPOP has no answer. A repeated RPUSH makes one more permit. When the server
// loses its data, a client fills the list again, and the old holders add their tokens to it.
// And a client that dies before it fills the list leaves a semaphore without permits.
func NewSemaphoreList(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	l := &semaphoreList{Spin: NewSpin(rdb, name, owner, o)}
	l.forever = true
	l.Take = func(ctx context.Context, _ time.Duration) (bool, error) {
		if err := l.fill(ctx); err != nil {
			return false, err
		}
		token, err := rdb.LPop(ctx, name).Result()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		l.token = token
		return err == nil, err
	}
	return l
}

// MadeSemaphore is the key that says that the list of a [NewSemaphoreList] has been filled.
func MadeSemaphore(name string) string { return "{" + name + "}:made" }

// fill makes the tokens, unless a client has done so.
func (l *semaphoreList) fill(ctx context.Context) error {
	made := redis.NewBoolCmd(ctx, "setnx", MadeSemaphore(l.name), 1)
	if err := l.rdb.Process(ctx, made); err != nil || !made.Val() {
		return err
	}
	tokens := make([]any, l.opts.Permits)
	for i := range tokens {
		tokens[i] = i + 1
	}
	return l.rdb.RPush(ctx, l.name, tokens...).Err()
}

// Unlock gives back the token, also one that the server no longer misses.
func (l *semaphoreList) Unlock(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := l.rdb.RPush(ctx, l.name, l.token).Err(); err != nil {
		return 0, unknown(ctx, err)
	}
	return 0, nil
}
