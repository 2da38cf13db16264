package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A member of another package tells of its loss. One that the group did not get
// counts as lost from the start, and is not released.
func TestGroup_aForeignMemberTellsOfItsLoss(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *world) {
				ctx := t.Context()
				first, second, third := newTelling(), newTelling(), newTelling()
				members := []lock.Locker{first, second}
				if name == "redlock" {
					third.acquire = always(lock.ErrBusy)
					members = append(members, third)
				}
				g := group(members)
				nested(t, ctx, g)
				time.Sleep(time.Minute)
				lost := g.(lock.LostNotifier).Lost()
				if closed(lost) {
					t.Fatal("lost, and nothing has happened")
				}
				close(first.lost)
				time.Sleep(time.Nanosecond)
				if !closed(lost) {
					t.Error("a loss is not told")
				}
				n, err := g.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
				if n != 0 {
					t.Errorf("%d holds remain", n)
				}
				first.wantHeld(t, 0, 2)
				second.wantHeld(t, 0, 2)
				third.wantHeld(t, 0, 0)
			})
		})
	}
}

// A group that is released, or not granted after all, listens to no member any more.
func TestMultiLock_forgetsItsMembers(t *testing.T) {
	inBubbles(t, 1, func(t *testing.T, s *servers) {
		ctx := t.Context()
		own := s.clients[0].NewLock("orders", "a")
		gone := false
		m := lock.NewMultiLock(newTelling(), own, late{s.clients[0].NewLock("invoices", "a"), func() {
			if gone {
				s.worlds[0].server.Del("orders")
				time.Sleep(11 * time.Second)
			}
		}})
		for range 2 {
			must[lock.Grant](t)(m.TryLock(ctx))
			must[int](t)(m.Unlock(ctx))
		}
		gone = true
		if _, err := m.TryLock(ctx); err == nil {
			t.Error("granted without its second member")
		}
	}) // which checks that no goroutine waits for a loss
}

// The group is lost, and the release of its inner hold discovers that. The release ends
// all holds, and reports every failure.
func TestGroup_lossFoundByARelease(t *testing.T) {
	errLate := errors.New("the server is down, too")
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 2, func(t *testing.T, s *servers) {
				ctx := t.Context()
				first, second := newTelling(), &foreign{grant: lock.Grant{Renewed: true}}
				first.release = func(n int) error {
					if n == 1 {
						return errDown
					}
					return nil
				}
				second.release = func(n int) error {
					if n == 2 {
						return errLate
					}
					return nil
				}
				g := group(append(s.locks("a"), first, second))
				nested(t, ctx, g)
				for _, w := range s.worlds {
					w.server.Del("orders")
				}
				n, err := g.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
				if n != 0 {
					t.Errorf("%d holds remain", n)
				}
				if name == "multi" && (!errors.Is(err, errDown) || !errors.Is(err, errLate)) {
					t.Errorf("%v, want the failures of the members, too", err)
				}
				first.wantHeld(t, 1, 2)
				second.wantHeld(t, 1, 2)
				n, err = g.Unlock(ctx)
				wantErr(t, "second unlock", err, lock.ErrNotHeld)
				if n != 0 {
					t.Errorf("%d holds remain", n)
				}
			})
		})
	}
}

// A group is lost that has a group as a member. The members of that are left to their
// leases, unless its owner holds it beside the outer group.
func TestGroup_lossOfAnOuterGroup(t *testing.T) {
	for name, group := range groups {
		for _, beside := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inBubbles(t, 3, func(t *testing.T, s *servers) {
					ctx := t.Context()
					members := s.locks("a")
					inner := group(members[:2])
					outer := lock.NewMultiLock(inner, members[2])
					if beside {
						must[lock.Grant](t)(inner.Lock(ctx))
					}
					must[lock.Grant](t)(outer.Lock(ctx))
					s.worlds[2].server.Del("orders")
					<-outer.Lost()
					want := 0
					if beside {
						want = 2
					}
					time.Sleep(31 * time.Second)
					if n := s.held(); n != want {
						t.Errorf("%d members are locked a lease later, want %d", n, want)
					}
					_, err := outer.Unlock(ctx)
					wantErr(t, "unlock", err, lock.ErrLost)
					if beside {
						must[int](t)(inner.Unlock(ctx))
					}
					if n := s.held(); n != 0 {
						t.Errorf("%d members are still locked", n)
					}
				})
			})
		}
	}
}

// A member of a group is lost before the group asks for it, and its owner has not learned
// that yet. The group fails once, and resolves that.
func TestGroup_aMemberThatWasLostBefore(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 1, func(t *testing.T, s *servers) {
				ctx := t.Context()
				member := s.clients[0].NewLock("orders", "a")
				must[lock.Grant](t)(member.Lock(ctx))
				s.worlds[0].server.Del("orders")
				<-member.Lost()
				g := group([]lock.Locker{member})
				_, err := g.TryLock(ctx)
				wantErr(t, "try", err, lock.ErrLost)
				must[lock.Grant](t)(g.TryLock(ctx))
				must[int](t)(g.Unlock(ctx))
			})
		})
	}
}

// The owner of a lost group asks for it again, and no member is asked: nothing has to
// be given back.
func TestGroup_anAcquireAfterTheLossSendsNothing(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				g := s.lostGroup(t, group)
				before := len(s.worlds[2].arrived())
				_, err := g.TryLock(t.Context())
				wantErr(t, "try", err, lock.ErrLost)
				if n := len(s.worlds[2].arrived()) - before; n != 0 {
					t.Errorf("%d requests arrived", n)
				}
			})
		})
	}
}

// The Unlock of a lost group waits for a member that does not answer no longer than for
// one release, however deep its holds are.
func TestGroup_unlockOfALossIsBounded(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				g := s.lostGroup(t, group)
				s.worlds[2].hung.Store(true)
				start := time.Now()
				if _, err := g.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
					t.Errorf("unlock: %v", err)
				}
				if d := time.Since(start); d > 5500*time.Millisecond {
					t.Errorf("it took %v, and the unlock timeout is 5s", d)
				}
			})
		})
	}
}

// The group is lost and released while its owner asks for one more hold. That acquire
// reports the loss, too, and not another owner.
func TestMultiLock_lostAndReleasedWhileItIsTakenAgain(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		ctx := t.Context()
		members := s.locks("a")
		count := 0
		var m *lock.MultiLock
		members[1] = late{members[1].(*lock.Reentrant), func() {
			if count++; count == 2 {
				s.worlds[0].server.Del("orders")
				time.Sleep(11 * time.Second)
				_, err := m.Unlock(ctx)
				wantErr(t, "unlock", err, lock.ErrLost)
			}
		}}
		m = lock.NewMultiLock(members...)
		must[lock.Grant](t)(m.TryLock(ctx))
		_, err := m.TryLock(ctx)
		wantErr(t, "acquire again", err, lock.ErrLost)
		if s.held() != 0 {
			t.Errorf("%d members are locked", s.held())
		}
	})
}

// A RedLock got two of three members, and loses one of these.
func TestRedLock_lostWithOneOfABareMajority(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		ctx := t.Context()
		s.worlds[0].hung.Store(true)
		r := s.red("a", 1)
		if g := must[lock.Grant](t)(r.TryLock(ctx)); !g.Renewed || !g.Until.IsZero() {
			t.Errorf("grant %+v, and all members that it has are renewed", g)
		}
		lost := r.Lost()
		s.worlds[1].server.Del("orders")
		time.Sleep(11 * time.Second)
		if !closed(lost) {
			t.Error("one member of three is left, and the loss is not told")
		}
		_, err := r.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
	})
}

// Members that cannot tell of a loss say so when they are released.
func TestRedLock_lossToldByTheRelease(t *testing.T) {
	for lost := range 4 {
		inBubble(t, func(t *testing.T, _ *world) {
			var members []lock.Locker
			for i := range 3 {
				f := &foreign{}
				if i < lost {
					f.release = func(int) error { return lock.ErrNotHeld }
				}
				members = append(members, f)
			}
			r := lock.NewRedLock(members...)
			must[lock.Grant](t)(r.TryLock(t.Context()))
			_, err := r.Unlock(t.Context())
			if isLost := errors.Is(err, lock.ErrLost); isLost != (lost > 1) || !isLost && err != nil {
				t.Errorf("%d of 3 members are lost: %v", lost, err)
			}
		})
	}
}

// The release that ends a lost group settles what an earlier one left open, at a member
// that the group has not got since.
func TestRedLock_lossSettlesAnEarlierRelease(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		ctx := t.Context()
		third := &foreign{grant: lock.Grant{Renewed: true}}
		third.release = func(n int) error {
			if n == 1 {
				return lock.ErrUnknown
			}
			return nil
		}
		third.acquire = func(_ context.Context, n int) error {
			if n > 1 {
				return lock.ErrBusy // by its own hold
			}
			return nil
		}
		r := lock.NewRedLock(append(s.locks("a"), third)...)
		must[lock.Grant](t)(r.TryLock(ctx))
		must[int](t)(r.Unlock(ctx)) // two of three are free
		third.wantHeld(t, 1, 1)
		nested(t, ctx, r)
		for _, w := range s.worlds {
			w.server.Del("orders")
		}
		_, err := r.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
		third.wantHeld(t, 0, 2)
	})
}
