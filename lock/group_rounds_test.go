package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// rounds returns when a RedLock of a busy member makes its rounds, from the call.
func rounds(t *testing.T, opts lock.GroupOptions, wait time.Duration) []time.Duration {
	t.Helper()
	start, member := time.Now(), &foreign{acquire: always(lock.ErrBusy)}
	_, err := lock.NewRedLockWith(opts, member).TryLock(t.Context(), lock.Wait(wait))
	wantErr(t, "try", err, lock.ErrBusy)
	var at []time.Duration
	for _, a := range member.acquires {
		at = append(at, a.Sub(start))
	}
	return at
}

// RetryDelay is the mean of the pauses, which are up to half of it longer or shorter.
func TestGroup_pauses(t *testing.T) {
	for set, delay := range map[time.Duration]time.Duration{
		0:                     200 * time.Millisecond, // the default
		50 * time.Millisecond: 50 * time.Millisecond,
		2:                     2,
	} {
		inBubble(t, func(t *testing.T, _ *world) {
			opts := lock.GroupOptions{RetryDelay: set, Rand: rand.New(rand.NewPCG(1, 1))}
			at := rounds(t, opts, 200*delay)
			var pauses []time.Duration
			for i := range at[1:] {
				pauses = append(pauses, at[i+1]-at[i])
			}
			shortest, longest := slices.Min(pauses), slices.Max(pauses)
			if shortest < delay/2 || longest > delay*3/2 {
				t.Errorf("a delay of %v: pauses from %v to %v", set, shortest, longest)
			}
			if shortest*100 > delay*55 || longest*100 < delay*145 {
				t.Errorf("a delay of %v: pauses from %v to %v only", set, shortest, longest)
			}
		})
	}
}

// No round begins when the wait is over.
func TestGroup_noRoundAfterTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		for wait := time.Duration(1); wait < 50; wait++ {
			at := rounds(t, lock.GroupOptions{RetryDelay: 2, Rand: rand.New(rand.NewPCG(1, 1))}, wait)
			if last := at[len(at)-1]; last >= wait {
				t.Errorf("a round began %v after the call, with a wait of %v", last, wait)
			}
		}
	})
}

// Owners that collide must not keep step: without a Rand, each group has its own.
func TestGroup_pausesDiffer(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		one := rounds(t, lock.GroupOptions{}, 5*time.Second)
		if other := rounds(t, lock.GroupOptions{}, 5*time.Second); slices.Equal(one, other) {
			t.Errorf("two groups made their rounds at %v", one)
		}
	})
}

// Two owners take the same locks in different order, so each waits for the other. A
// round waits 1.5 s for each member, and then gives up what it has.
func TestMultiLock_aDeadlockEnds(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		start := time.Now()
		var both sync.WaitGroup
		for _, owner := range []string{"a", "b"} {
			members := s.locks(owner)
			if owner == "b" {
				slices.Reverse(members)
			}
			both.Go(func() {
				m := lock.NewMultiLockWith(lock.GroupOptions{Rand: rand.New(rand.NewPCG(1, uint64(owner[0])))}, members...)
				if _, err := m.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				if _, err := m.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if d := time.Since(start); d < 3*time.Second || d > 7*time.Second {
			t.Errorf("both were served after %v, and the first round ends after 3s", d)
		}
	})
}

// A failed round waits for a slow release, so that its caller learns the outcome.
func TestMultiLock_waitsForASlowRelease(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		ctx := t.Context()
		must[lock.Grant](t)(s.clients[1].NewLock("orders", "b").Lock(ctx))
		s.worlds[0].setLatency(150 * time.Millisecond) // the server does not know the script yet
		_, err := lock.NewMultiLock(s.locks("a")...).TryLock(ctx)
		wantErr(t, "try", err, lock.ErrBusy)
		if n := s.held(); n != 1 {
			t.Errorf("%d members are locked, want the other owner's", n)
		}
	})
}

// The validity is the lease less the time of the acquire, 1% and 2 ms.
func TestRedLock_validity(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		for i, w := range s.worlds {
			w.setLatency(time.Duration(i+1) * 10 * time.Millisecond)
		}
		start := time.Now()
		g := must[lock.Grant](t)(s.red("a", 1).TryLock(t.Context(), lock.Lease(10*time.Second)))
		if want := 10*time.Second - 100*time.Millisecond - 2*time.Millisecond - time.Since(start); g.Lease != want {
			t.Errorf("a lease of %v, want %v", g.Lease, want)
		}
	})
}

// A release was not answered, and the group is taken again: the members resolve that,
// and the next Unlock is for the new hold.
func TestGroup_acquireAfterAnUnknownRelease(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				ctx, g := t.Context(), group(s.locks("a"))
				must[lock.Grant](t)(g.Lock(ctx))
				for _, away := range []bool{true, false} {
					for _, w := range s.worlds[:2] {
						w.hung.Store(away)
					}
					if away {
						_, err := g.Unlock(ctx)
						wantErr(t, "unlock", err, lock.ErrUnknown)
					}
				}
				if g := must[lock.Grant](t)(g.TryLock(ctx, lock.Wait(time.Second))); g.Count != 1 {
					t.Errorf("grant %+v", g)
				}
				if n := must[int](t)(g.Unlock(ctx)); n != 0 || s.held() != 0 {
					t.Errorf("%d holds remain, %d members are locked", n, s.held())
				}
				s.freeAfter(t, 31*time.Second)
			})
		})
	}
}

// Two members did not answer the acquire, and one does not answer the release. A
// majority may be held, so no Unlock succeeds until they answer.
func TestRedLock_releaseCountsAcquiresThatAreOpen(t *testing.T) {
	inBubbles(t, 5, func(t *testing.T, s *servers) {
		ctx, r := t.Context(), s.red("a", 1)
		s.worlds[0].hung.Store(true)
		s.worlds[1].hung.Store(true)
		must[lock.Grant](t)(r.Lock(ctx))
		s.worlds[2].hung.Store(true)
		for _, what := range []string{"unlock", "the same once more"} {
			_, err := r.Unlock(ctx)
			wantErr(t, what, err, lock.ErrUnknown)
		}
		for _, w := range s.worlds {
			w.hung.Store(false)
		}
		if n := must[int](t)(r.Unlock(ctx)); n != 0 || s.held() != 0 {
			t.Errorf("%d holds remain, %d members are locked", n, s.held())
		}
	})
}

func TestGroup_unlockWithoutAHold(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *world) {
				member := &foreign{}
				n, err := group([]lock.Locker{member}).Unlock(t.Context())
				wantErr(t, "unlock", err, lock.ErrNotHeld)
				if n != 0 {
					t.Errorf("%d holds remain", n)
				}
				member.wantHeld(t, 0, 0)
			})
		})
	}
}

// The caller's context ends during the request to a member, and the member says something
// else. The caller learns of the context, and of an unknown outcome.
func TestGroup_contextEndsDuringARound(t *testing.T) {
	for name, group := range groups {
		for _, said := range []error{lock.ErrBusy, lock.ErrUnknown} {
			t.Run(fmt.Sprint(name, "/", said), func(t *testing.T) {
				inBubble(t, func(t *testing.T, _ *world) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					_, err := group([]lock.Locker{&foreign{acquire: func(context.Context, int) error {
						cancel()
						return said
					}}}).TryLock(ctx)
					if !errors.Is(err, context.Canceled) || errors.Is(err, lock.ErrUnknown) != (said == lock.ErrUnknown) || errors.Is(err, lock.ErrBusy) {
						t.Errorf("a member said %v: %v", said, err)
					}
				})
			})
		}
	}
}

// Lock tries again for a busy member, and for one that replicas did not confirm. It
// tells every other failure at once.
func TestMultiLock_lockEndsWithAFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		for _, c := range []struct {
			failure error
			want    int // attempts
		}{{lock.ErrBusy, 3}, {lock.ErrAcks, 3}, {errDown, 1}, {lock.ErrRefused, 1}, {errors.Join(lock.ErrBusy, lock.ErrUnknown), 1}} {
			member := &foreign{grant: lock.Grant{Lease: time.Second}, acquire: func(_ context.Context, n int) error {
				if n < 3 {
					return c.failure
				}
				return nil
			}}
			_, err := lock.NewMultiLock(member).Lock(t.Context())
			if n := len(member.acquires); n != c.want || c.want == 1 && !errors.Is(err, c.failure) || c.want > 1 && err != nil {
				t.Errorf("a member fails with %v: %v after %d attempts, want %d", c.failure, err, n, c.want)
			}
		}
	})
}

// The members share the wait. When it is over, no further member is asked.
func TestMultiLock_membersShareTheWait(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		first := &foreign{grant: lock.Grant{Lease: time.Minute}, acquire: func(context.Context, int) error {
			time.Sleep(2 * time.Second)
			return nil
		}}
		second := &foreign{grant: lock.Grant{Lease: time.Minute}}
		m := lock.NewMultiLock(first, second)
		_, err := m.TryLock(t.Context(), lock.Wait(2*time.Second))
		wantErr(t, "the first member took all of the wait", err, lock.ErrBusy)
		if n := len(second.acquires); n > 0 {
			t.Errorf("the second member was asked %d times", n)
		}
		first.wantHeld(t, 0, 1)
		must[lock.Grant](t)(m.TryLock(t.Context(), lock.Wait(2*time.Second+1)))
	})
}

// RedLock tells its caller whether others hold too much of it, or too little of it
// answers.
func TestRedLock_busyOrDown(t *testing.T) {
	for _, c := range []struct {
		free, busy, down int
		want             error
	}{
		{3, 0, 2, nil},
		{3, 1, 1, nil},
		{2, 3, 0, lock.ErrBusy},
		{1, 2, 2, lock.ErrBusy}, // a majority answers
		{0, 3, 2, lock.ErrBusy},
		{1, 1, 3, errDown},
		{2, 0, 3, errDown},
	} {
		inBubble(t, func(t *testing.T, _ *world) {
			var members []lock.Locker
			for range c.free {
				members = append(members, &foreign{})
			}
			for range c.busy {
				members = append(members, &foreign{acquire: always(lock.ErrBusy)})
			}
			for range c.down {
				members = append(members, &foreign{acquire: always(errDown)})
			}
			_, err := lock.NewRedLock(members...).TryLock(t.Context())
			what := fmt.Sprintf("%d free, %d busy, %d down", c.free, c.busy, c.down)
			wantErr(t, what, err, c.want)
			if errors.Is(err, lock.ErrBusy) && errors.Is(err, errDown) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}
