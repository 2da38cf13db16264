package gallery

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// waiting are the mistakes of waiters and of those who should wake them.
func waiting() []Mutant {
	const publish = "redis.call('publish', KEYS[2], ARGV[1])"
	return []Mutant{
		wired(Mutant{
			Name: "no-try-after-subscribe", Of: "reentrant", Class: 8,
			Mistake: "A waiter subscribes and sleeps. It does not look once more when the subscription stands, so a release in between is missed.",
			Shipped: "Redisson (#1763, #5070, #5761): waiters that slept until the lease ended",
		}, blindAfterBusy),
		edited(Mutant{
			Name: "release-tells-nobody", Of: "reentrant", Class: 8,
			Mistake: "A release deletes the lock and publishes nothing: waiters find out by their safety poll.",
			Shipped: "rueidislock lost its notifications once the key had been extended (#669)",
		}, edit{releaseScript, publish, ""}),
		edited(Mutant{
			Name: "release-tells-another-channel", Of: "reentrant", Class: 8,
			Mistake: "A release is published on a channel with a slightly different name from the one that waiters subscribe to.",
			Shipped: "cheerego/go-redisson: a misplaced brace in the name of the channel",
		}, edit{releaseScript, "redis.call('publish', KEYS[2],", "redis.call('publish', KEYS[2] .. '}',"}),
		with(Mutant{
			Name: "no-safety-poll", Of: "reentrant", Class: 8,
			Mistake: "A waiter trusts the message: when it is lost, nothing wakes the waiter before the lease would have ended.",
			Shipped: "Redisson: a missed message costs 30 to 35 s (#3891)",
		}, lock.WithSafetyPoll(time.Hour)),
		{
			Name: "subscription-never-closed", Of: "reentrant", Class: 8,
			Mistake: "Every wait opens a subscription on a connection of its own, and nobody closes it.",
			Shipped: "Redisson leaked entries when it ran out of connections (#3577); me-cs/goRedisson subscribes before every lock",
			open: func(p Process) (Locks, error) {
				return p.Base([]redis.UniversalClient{leakySubscriber{p.Clients[0]}})
			},
		},
	}
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
		field := r.arg(2).(string)
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

// Subscribe opens the subscription asked for, and another one to the same
// channels, of which the caller knows nothing.
func (l leakySubscriber) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	_ = l.UniversalClient.Subscribe(ctx).Subscribe(ctx, append(channels, "redisson_lock__channel:{leak}")...)
	return l.UniversalClient.Subscribe(ctx, channels...)
}
