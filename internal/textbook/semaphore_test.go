package textbook_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
)

const c = "client-3:1"

// semaphores are those of two permits.
var semaphores = map[string]func(redis.UniversalClient, string, string, textbook.Options) lock.Locker{
	"semaphore-zset":    textbook.NewSemaphoreZSet,
	"semaphore-counter": textbook.NewSemaphoreCounter,
	"semaphore-list":    textbook.NewSemaphoreList,
}

// onSemaphores runs f for every semaphore, with three owners of it.
func onSemaphores(t *testing.T, f func(s server, first, second, third lock.Locker)) {
	for kind, make := range semaphores {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(s server) {
				open := func(owner string) lock.Locker {
					return make(s.client(nil), name, owner, textbook.Options{Lease: lease, Permits: 2})
				}
				f(s, open(a), open(b), open(c))
			})
		})
	}
}

func (s server) busy(l lock.Locker) {
	s.Helper()
	_, err := l.TryLock(s.Context())
	s.wantErr(err, lock.ErrBusy)
}

// There are two permits for three owners.
func TestPermits(t *testing.T) {
	onSemaphores(t, func(s server, first, second, third lock.Locker) {
		s.take(first)
		s.take(second)
		s.busy(third)
		s.release(first)
		s.take(third)
		s.busy(first)
		s.release(second)
		s.release(third)
	})
}

// Each permit has a lease of its own, and an owner without one takes no other away.
func TestPermitsOfZSetEnd(t *testing.T) {
	inBubble(t, func(s server) {
		open := func(owner string) lock.Locker {
			return textbook.NewSemaphoreZSet(s.client(nil), name, owner, textbook.Options{Lease: lease})
		}
		first, second, third := open(a), open(b), open(c)
		s.take(first, lock.Lease(time.Second))
		s.take(second)
		time.Sleep(time.Second + time.Millisecond)
		s.take(third)
		_, err := first.Unlock(s.Context())
		s.wantErr(err, lock.ErrNotHeld)
		s.busy(first)
		time.Sleep(lease - time.Second)
		s.take(first)
		s.busy(second)
	})
}

// The scripts have the time of the server in whole milliseconds. No lease is shorter for it.
func TestLeasesLastInFull(t *testing.T) {
	o := textbook.Options{Lease: lease, Permits: 1}
	for kind, open := range map[string]func(redis.UniversalClient, string, string, textbook.Options) lock.Locker{
		"permit": textbook.NewSemaphoreZSet, "write": textbook.NewWrite,
	} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(s server) {
				first, second := open(s.client(nil), name, a, o), open(s.client(nil), name, b, o)
				time.Sleep(900 * time.Microsecond)
				s.take(first)
				time.Sleep(lease - time.Microsecond)
				s.busy(second)
				time.Sleep(time.Millisecond + time.Microsecond)
				s.take(second)
			})
		})
	}
}

// All permits of a counter end with the lease of its last grant. A release after that makes
// room for one permit too many.
func TestPermitsOfCounterEnd(t *testing.T) {
	inBubble(t, func(s server) {
		open := func(owner string) lock.Locker {
			return textbook.NewSemaphoreCounter(s.client(nil), name, owner, textbook.Options{Lease: lease, Permits: 1})
		}
		first, second, third := open(a), open(b), open(c)
		s.take(first)
		s.busy(second)
		time.Sleep(lease)
		s.release(first)
		if ttl := s.TTL(name); ttl != 0 || !s.Exists(name) {
			s.Errorf("the counter is there: %t, and ends in %v", s.Exists(name), ttl)
		}
		s.take(second)
		s.take(third, lock.Lease(time.Second))
		s.busy(first)
		time.Sleep(time.Second)
		s.take(first)
	})
}

// A refusal gives back what it counted. If the counter expires before that, -1 is left.
func TestARefusalOutlivesTheCounter(t *testing.T) {
	inBubble(t, func(s server) {
		open := func(owner string, around func(redis.Cmder, func() error) error) lock.Locker {
			return textbook.NewSemaphoreCounter(s.client(around), name, owner, textbook.Options{Lease: lease, Permits: 1})
		}
		s.take(open(a, nil))
		s.busy(open(b, func(cmd redis.Cmder, next func() error) error {
			if cmd.Name() == "decr" {
				s.FastForward(lease)
			}
			return next()
		}))
		if left, err := s.Get(name); left != "-1" || err != nil {
			t.Errorf("the counter is %q, %v", left, err)
		}
	})
}

// A permit that is asked for twice is granted once, and a release ignores the end of its
// caller's context.
func TestPermitsOfZSetAskedForAgain(t *testing.T) {
	inBubble(t, func(s server) {
		l := textbook.NewSemaphoreZSet(s.client(func(cmd redis.Cmder, next func() error) error {
			_ = next()
			return next()
		}), name, a, textbook.Options{})
		s.take(l)
		if members, err := s.ZMembers(name); err != nil || len(members) != 1 {
			s.Errorf("permits %q, %v", members, err)
		}
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		_, err := l.Unlock(ctx)
		s.wantErr(err, lock.ErrNotHeld) // the second one found it released
		if s.Exists(name) {
			s.Error("the permit is still there")
		}
	})
}
