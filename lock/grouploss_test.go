package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// freeAfter fails the test if a member is still locked when every lease would
// have ended.
func (s *servers) freeAfter(t *testing.T, d time.Duration) {
	t.Helper()
	time.Sleep(d)
	for i, w := range s.worlds {
		if w.server.Exists("orders") {
			t.Errorf("member %d is still locked after %v", i, d)
		}
	}
}

func nested(t *testing.T, ctx context.Context, l lock.Locker) {
	t.Helper()
	for range 2 {
		must[lock.Grant](t)(l.Lock(ctx))
	}
}

// The release of an inner hold is not answered, and the outer one is released after it.
// No member may be left with a hold that is renewed for ever.
func TestGroup_unknownInnerRelease(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				ctx := t.Context()
				g := group(s.locks("a"))
				nested(t, ctx, g)
				s.worlds[0].hung.Store(true)
				_, err := g.Unlock(ctx)
				s.worlds[0].hung.Store(false)
				if errors.Is(err, lock.ErrUnknown) { // again, for the same hold
					if n, err := g.Unlock(ctx); n != 1 || err != nil {
						t.Errorf("%d holds remain: %v", n, err)
					}
				}
				if n, err := g.Unlock(ctx); n != 0 || err != nil {
					t.Errorf("%d holds remain: %v", n, err)
				}
				s.freeAfter(t, time.Minute)
			})
		})
	}
}

// The server is away until after the last release that its holder asks for: the
// lease frees the member.
func TestGroup_unknownReleases(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				ctx := t.Context()
				g := group(s.locks("a"))
				must[lock.Grant](t)(g.Lock(ctx))
				s.worlds[0].hung.Store(true)
				_, _ = g.Unlock(ctx)
				s.worlds[0].hung.Store(false)
				s.freeAfter(t, time.Minute)
			})
		})
	}
}

var groups = map[string]func(members []lock.Locker) lock.Locker{
	"multi":   func(m []lock.Locker) lock.Locker { return lock.NewMultiLock(m...) },
	"redlock": func(m []lock.Locker) lock.Locker { return lock.NewRedLock(m...) },
}

// lostGroup is a group that holds several times, and has lost two of three members.
func (s *servers) lostGroup(t *testing.T, group func([]lock.Locker) lock.Locker) lock.Locker {
	t.Helper()
	g := group(s.locks("a"))
	nested(t, t.Context(), g)
	s.worlds[0].server.Del("orders")
	s.worlds[1].server.Del("orders")
	<-g.(lock.LostNotifier).Lost()
	return g
}

// ErrLost is for all holds, so the one Unlock that says it gives all of them
// back, on every member.
func TestGroup_lossEndsAllHolds(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				ctx, g := t.Context(), s.lostGroup(t, group)
				_, err := g.TryLock(ctx)
				wantErr(t, "acquire after the loss", err, lock.ErrLost)
				n, err := g.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
				if n != 0 || s.held() != 0 {
					t.Errorf("%d holds remain, %d members are locked", n, s.held())
				}
				_, err = g.Unlock(ctx)
				wantErr(t, "second unlock", err, lock.ErrNotHeld)
				must[lock.Grant](t)(g.TryLock(ctx))
				must[int](t)(g.Unlock(ctx))
				s.freeAfter(t, time.Minute)
			})
		})
	}
}

// The owner of a lost group may never come to unlock it, and must not keep the
// members that are left from everybody else.
func TestGroup_lossEndsRenewal(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				ctx, g := t.Context(), s.lostGroup(t, group)
				s.freeAfter(t, 31*time.Second)
				_, err := g.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
				_, err = g.Unlock(ctx)
				wantErr(t, "second unlock", err, lock.ErrNotHeld)
				must[lock.Grant](t)(g.TryLock(ctx))
				must[int](t)(g.Unlock(ctx))
			})
		})
	}
}

// The group is lost while its owner asks for one more hold, of a member that does not
// answer. Neither that acquire nor the members it has got so far may last.
func TestMultiLock_lossEndsAnAcquire(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		ctx := t.Context()
		m := lock.NewMultiLock(s.locks("a")...)
		must[lock.Grant](t)(m.Lock(ctx))
		time.Sleep(8 * time.Second) // the next renewal finds out in two
		start := time.Now()
		s.worlds[2].server.Del("orders")
		s.worlds[1].hung.Store(true)
		_, err := m.Lock(ctx)
		if !errors.Is(err, lock.ErrLost) || !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("acquire again: %v, want a loss, and that a request is open", err)
		}
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("told after %v", d)
		}
		s.worlds[1].hung.Store(false)
		s.freeAfter(t, 41*time.Second)
		_, err = m.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
	})
}

// A hold that the same owner has of a member beside the group is not the group's
// to give up.
func TestGroup_lossSparesOtherHolds(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				ctx := t.Context()
				members := s.locks("a")
				must[lock.Grant](t)(members[2].Lock(ctx))
				g := group(members)
				must[lock.Grant](t)(g.Lock(ctx))
				s.worlds[0].server.Del("orders")
				s.worlds[1].server.Del("orders")
				<-g.(lock.LostNotifier).Lost()
				time.Sleep(time.Minute)
				_, err := g.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
				time.Sleep(time.Minute)
				if n := must[int](t)(members[2].Unlock(ctx)); n != 0 || s.held() != 0 {
					t.Errorf("%d holds remain, %d members are locked", n, s.held())
				}
			})
		})
	}
}

// late is a member that is granted late.
type late struct {
	*lock.Reentrant
	before func()
}

func (l late) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	g, err := l.Reentrant.TryLock(ctx, opts...)
	l.before()
	return g, err
}

// A member is lost while the group waits for the next one: the group was never
// held, whatever its members said.
func TestMultiLock_lostBeforeItIsGranted(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		ctx := t.Context()
		members := s.locks("a")
		first := true
		members[1] = late{members[1].(*lock.Reentrant), func() {
			if first {
				first = false
				s.worlds[0].server.Del("orders")
				time.Sleep(11 * time.Second)
			}
		}}
		m := lock.NewMultiLock(members...)
		_, err := m.TryLock(ctx)
		if err == nil {
			t.Fatal("granted without its first member")
		}
		if s.held() != 0 {
			t.Errorf("%d members are locked", s.held())
		}
		must[lock.Grant](t)(m.TryLock(ctx))
		must[int](t)(m.Unlock(ctx))
	})
}

// The same within a hold of the group.
func TestMultiLock_lostWhileItIsTakenAgain(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		ctx := t.Context()
		members := s.locks("a")
		count := 0
		members[1] = late{members[1].(*lock.Reentrant), func() {
			if count++; count == 2 {
				s.worlds[0].server.Del("orders")
				time.Sleep(11 * time.Second)
			}
		}}
		m := lock.NewMultiLock(members...)
		must[lock.Grant](t)(m.TryLock(ctx))
		_, err := m.TryLock(ctx)
		wantErr(t, "acquire again", err, lock.ErrLost)
		_, err = m.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
		if s.held() != 0 {
			t.Errorf("%d members are locked", s.held())
		}
	})
}

// A member that does not answer costs its own time, not that of each.
func TestMultiLock_givesBackAtOnce(t *testing.T) {
	inBubbles(t, 4, func(t *testing.T, s *servers) {
		ctx := t.Context()
		other := s.clients[3].NewLock("orders", "b")
		must[lock.Grant](t)(other.Lock(ctx))
		m := lock.NewMultiLock(s.locks("a")...)
		start := time.Now()
		time.AfterFunc(time.Second, func() {
			for _, w := range s.worlds[:3] {
				w.hung.Store(true)
			}
		})
		_, err := m.TryLock(ctx, lock.Wait(2*time.Second))
		if err == nil {
			t.Fatal("granted")
		}
		if d := time.Since(start); d > 3100*time.Millisecond {
			t.Errorf("a wait of 2s took %v", d)
		}
	})
}

// A member answers late: the lease of the group counts from the request, and the group
// states the end.
func TestGroups_validityCountsFromTheRequest(t *testing.T) {
	for name, combine := range map[string]func(...lock.Locker) lock.Locker{
		"multi":   func(l ...lock.Locker) lock.Locker { return lock.NewMultiLock(l...) },
		"redlock": func(l ...lock.Locker) lock.Locker { return lock.NewRedLock(l...) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				members := s.locks("a")
				members[0] = late{members[0].(*lock.Reentrant), func() { time.Sleep(2 * time.Second) }}
				start := time.Now()
				g := must[lock.Grant](t)(combine(members...).TryLock(t.Context(), lock.Lease(10*time.Second), lock.Wait(5*time.Second)))
				if latest := start.Add(10 * time.Second); g.Until.IsZero() || g.Until.After(latest) {
					t.Errorf("valid until %v after the call, at most 10 s", g.Until.Sub(start))
				}
				if left := time.Until(g.Until); g.Lease != left {
					t.Errorf("a lease of %v, and valid for %v", g.Lease, left)
				}
			})
		})
	}
}

// A watchdog renews the hold, so no end is stated.
func TestGroups_renewedHoldsStateNoEnd(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		if g := must[lock.Grant](t)(s.red("a", 1).TryLock(t.Context())); !g.Until.IsZero() || !g.Renewed {
			t.Errorf("valid until %v, renewed %v", g.Until, g.Renewed)
		}
	})
}
