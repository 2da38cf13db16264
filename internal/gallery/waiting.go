package gallery

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// waiting are the mistakes of waiters and of those who should wake them.
var waiting = openings{
	"no-try-after-subscribe": wired(blindAfterBusy),
	"no-safety-poll":         with(lock.WithSafetyPoll(time.Hour)),
	"subscription-never-closed": func(p Process) (Locks, error) {
		return p.Base([]redis.UniversalClient{leakySubscriber{p.Clients[0]}})
	},
}

// blindAfterBusy is a wire on which a waiter's first look after the one that
// found the lock busy is answered from memory.
func blindAfterBusy(Process) *wire {
	type waiter struct {
		waits, blind bool
		left         any // what the server said about the holder's lease
	}
	var mu sync.Mutex
	waiters := map[string]*waiter{}
	of := func(r *request) *waiter {
		field := r.arg(1).(string)
		if waiters[field] == nil {
			waiters[field] = &waiter{}
		}
		return waiters[field]
	}
	return &wire{
		before: func(_ context.Context, r *request) bool {
			if r.script != acquireScript {
				return true
			}
			mu.Lock()
			defer mu.Unlock()
			w := of(r)
			if w.blind {
				w.blind = false
				return r.answer([]any{"busy", w.left})
			}
			return true
		},
		after: func(r *request) {
			if r.script != acquireScript {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			w := of(r)
			switch {
			case !r.is(acquireScript, "busy"):
				*w = waiter{}
			case !w.waits:
				*w = waiter{waits: true, blind: true, left: r.reply()[1]}
			}
		},
	}
}

// leakySubscriber opens one subscription more than it is asked for.
type leakySubscriber struct{ redis.UniversalClient }

// Subscribe opens the subscription asked for, and another one to the same channels,
// without the caller's knowledge.
func (l leakySubscriber) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	_ = l.UniversalClient.Subscribe(ctx).Subscribe(ctx, append(channels, "redisson_lock__channel:{leak}")...)
	return l.UniversalClient.Subscribe(ctx, channels...)
}
