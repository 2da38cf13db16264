package lock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// servers is n independent servers with a client each, and makes an owner's
// locks on all of them.
type servers struct {
	worlds  []*world
	clients []*lock.Client
}

func inBubbles(t *testing.T, n int, f func(t *testing.T, s *servers)) {
	inBubble(t, func(t *testing.T, w *world) {
		s := &servers{worlds: []*world{w}}
		for len(s.worlds) < n {
			s.worlds = append(s.worlds, newWorld(t))
		}
		for _, w := range s.worlds {
			defer w.server.Close()
			s.clients = append(s.clients, w.clientOn(w.redis(noRetries)))
		}
		f(t, s)
	})
}

func (s *servers) locks(owner string) []lock.Locker {
	var ls []lock.Locker
	for _, c := range s.clients {
		ls = append(ls, c.NewLock("orders", owner))
	}
	return ls
}

func (s *servers) red(owner string, seed uint64) *lock.RedLock {
	return lock.NewRedLockWith(lock.GroupOptions{Rand: rand.New(rand.NewPCG(seed, 0))}, s.locks(owner)...)
}

func (s *servers) held() int {
	n := 0
	for _, w := range s.worlds {
		if w.server.Exists("orders") {
			n++
		}
	}
	return n
}

func TestMultiLock_allOrNone(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		ctx := t.Context()
		m := lock.NewMultiLock(s.locks("a")...)
		other := s.clients[2].NewLock("orders", "b")
		must[lock.Grant](t)(other.Lock(ctx))
		_, err := m.TryLock(ctx)
		wantErr(t, "try", err, lock.ErrBusy)
		start := time.Now()
		_, err = m.TryLock(ctx, lock.Wait(2*time.Second))
		wantErr(t, "wait", err, lock.ErrBusy)
		if d := time.Since(start); d > 2100*time.Millisecond {
			t.Errorf("a wait of 2s took %v", d)
		}
		if n := s.held(); n != 1 {
			t.Errorf("%d members are locked after a failed try, want the other owner's", n)
		}
		time.AfterFunc(7*time.Second, func() { must[int](t)(other.Unlock(ctx)) })
		if g := must[lock.Grant](t)(m.Lock(ctx)); g.Count != 1 || !g.Renewed {
			t.Errorf("grant %+v", g)
		}
		if g := must[lock.Grant](t)(m.Lock(ctx)); g.Count != 2 {
			t.Errorf("nested grant %+v", g)
		}
		if n := must[int](t)(m.Unlock(ctx)); n != 1 || s.held() != 3 {
			t.Errorf("%d holds remain, %d members held", n, s.held())
		}
		if n := must[int](t)(m.Unlock(ctx)); n != 0 || s.held() != 0 {
			t.Errorf("%d holds remain, %d members held", n, s.held())
		}
		_, err = m.Unlock(ctx)
		wantErr(t, "one unlock too many", err, lock.ErrNotHeld)
	})
}

// A member whose reply was lost is locked as well, and has to be given back.
func TestMultiLock_unknownMemberIsTakenBack(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		m := lock.NewMultiLock(s.locks("a")...)
		must[lock.Grant](t)(m.Lock(t.Context()))
		s.worlds[1].dropReply("orders", 1)
		_, err := m.TryLock(t.Context())
		wantErr(t, "nested try", err, lock.ErrUnknown)
		if n := must[int](t)(m.Unlock(t.Context())); n != 0 || s.held() != 0 {
			t.Errorf("%d holds remain, %d members held", n, s.held())
		}
	})
}

// One member that fails must not keep the others locked.
func TestMultiLock_unlockTriesAllMembers(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		m := lock.NewMultiLock(s.locks("a")...)
		must[lock.Grant](t)(m.Lock(t.Context()))
		lost := m.Lost()
		s.worlds[0].server.Del("orders")
		_, err := m.Unlock(t.Context())
		wantErr(t, "unlock", err, lock.ErrLost)
		if n := s.held(); n != 0 {
			t.Errorf("%d members are still locked", n)
		}
		_ = lost
	})
}

func TestMultiLock_lostWithOneMember(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		m := lock.NewMultiLock(s.locks("a")...)
		if m.Lost() != nil {
			t.Error("there is something to lose")
		}
		must[lock.Grant](t)(m.Lock(t.Context()))
		s.worlds[1].server.Del("orders")
		start := time.Now()
		<-m.Lost()
		if d := time.Since(start); d > 11*time.Second {
			t.Errorf("told after %v", d)
		}
		_, err := m.Unlock(t.Context())
		wantErr(t, "unlock", err, lock.ErrLost)
	})
}

// The lease of the first member runs while the last is waited for.
// Members that are renewed stay held however long the wait for the next takes.
func TestMultiLock_renewedMembersOutlastTheWait(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		m := lock.NewMultiLock(s.locks("a")...)
		other := s.clients[1].NewLock("orders", "b")
		must[lock.Grant](t)(other.Lock(t.Context()))
		time.AfterFunc(2*time.Minute, func() { must[int](t)(other.Unlock(t.Context())) })
		if g := must[lock.Grant](t)(m.TryLock(t.Context(), lock.Wait(3*time.Minute))); g.Count != 1 {
			t.Errorf("grant %+v", g)
		}
		must[int](t)(m.Unlock(t.Context()))
	})
}

// A lease that has run out while the next member was waited for costs a round, not
// what is left of the wait.
func TestMultiLock_leaseMustCoverTheWait(t *testing.T) {
	for name, c := range map[string]struct {
		wait time.Duration
		want error
		held int
	}{
		"a round more fits":    {5 * time.Second, nil, 2},
		"a round more is late": {3010 * time.Millisecond, lock.ErrBusy, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 2, func(t *testing.T, s *servers) {
				m := lock.NewMultiLock(s.locks("a")...)
				other := s.clients[1].NewLock("orders", "b")
				must[lock.Grant](t)(other.Lock(t.Context()))
				time.AfterFunc(3*time.Second, func() { must[int](t)(other.Unlock(t.Context())) })
				_, err := m.TryLock(t.Context(), lock.Lease(2*time.Second), lock.Wait(c.wait))
				wantErr(t, "try", err, c.want)
				if n := s.held(); n != c.held {
					t.Errorf("%d members are locked, want %d", n, c.held)
				}
			})
		})
	}
}

// The end of the wait does not cut off a round that is under way: its outcome
// would be unknown, though nothing is wrong.
func TestRedLock_busyAtTheEndOfTheWait(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		must[lock.Grant](t)(s.red("a", 1).Lock(t.Context()))
		for _, w := range s.worlds {
			w.setLatency(50 * time.Millisecond)
		}
		for i := range 30 {
			wait := 500*time.Millisecond + time.Duration(i)*10*time.Millisecond
			_, err := s.red("b", uint64(i)).TryLock(t.Context(), lock.Wait(wait))
			if !errors.Is(err, lock.ErrBusy) || errors.Is(err, lock.ErrUnknown) {
				t.Fatalf("a wait of %v: %v", wait, err)
			}
		}
	})
}

func TestRedLock_toleratesAMinority(t *testing.T) {
	for down := range 4 {
		inBubbles(t, 5, func(t *testing.T, s *servers) {
			ctx := t.Context()
			for i := range down {
				s.worlds[i].hung.Store(true)
			}
			r := s.red("a", 1)
			start := time.Now()
			_, err := r.TryLock(ctx)
			if d := time.Since(start); d > 110*time.Millisecond {
				t.Errorf("%d down: took %v", down, d)
			}
			if down > 2 {
				wantErr(t, "without a majority", err, lock.ErrUnknown)
				if n := s.held(); n != 0 {
					t.Errorf("%d members are still locked", n)
				}
				time.Sleep(time.Minute)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.red("b", 2).TryLock(ctx)
			if err == nil {
				t.Error("two owners")
			}
			time.Sleep(time.Minute) // renewed by the members
			select {
			case <-r.Lost():
				t.Error("lost")
			default:
			}
			must[int](t)(r.Unlock(ctx))
			if n := s.held(); n != 0 {
				t.Errorf("%d members are still locked", n)
			}
		})
	}
}

// Two members did not answer the release before, and one does not answer this one.
// A majority may still be held, so the release must not succeed.
func TestRedLock_releaseCountsWhatIsOpen(t *testing.T) {
	inBubbles(t, 5, func(t *testing.T, s *servers) {
		ctx := t.Context()
		r := s.red("a", 1)
		must[lock.Grant](t)(r.Lock(ctx))
		s.worlds[0].hung.Store(true)
		s.worlds[1].hung.Store(true)
		must[int](t)(r.Unlock(ctx))
		must[lock.Grant](t)(r.Lock(ctx))
		s.worlds[2].hung.Store(true)
		_, err := r.Unlock(ctx)
		if n := s.held(); err == nil && n > 2 {
			t.Errorf("the release succeeded, and %d of 5 members are held", n)
		}
		wantErr(t, "without a free majority", err, lock.ErrUnknown)
		for i := range 3 {
			s.worlds[i].hung.Store(false)
		}
		must[int](t)(r.Unlock(ctx)) // again, for the same hold
		if n := s.held(); n != 0 {
			t.Errorf("%d members are still locked", n)
		}
	})
}

func TestRedLock_lostWithTheMajority(t *testing.T) {
	inBubbles(t, 5, func(t *testing.T, s *servers) {
		ctx := t.Context()
		r := s.red("a", 1)
		must[lock.Grant](t)(r.Lock(ctx))
		s.worlds[0].server.Del("orders")
		s.worlds[1].server.Del("orders")
		time.Sleep(15 * time.Second)
		select {
		case <-r.Lost():
			t.Error("lost with three of five")
		default:
		}
		s.worlds[4].server.Del("orders")
		start := time.Now()
		<-r.Lost()
		if d := time.Since(start); d > 11*time.Second {
			t.Errorf("told after %v", d)
		}
		_, err := r.Unlock(ctx)
		wantErr(t, "unlock", err, lock.ErrLost)
		if n := s.held(); n != 0 {
			t.Errorf("%d members are still locked", n)
		}
	})
}

func TestRedLock_contention(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		ctx := t.Context()
		inside, turns := 0, 0
		done := make(chan bool)
		for i := range 4 {
			go func() {
				r := s.red(string(rune('a'+i)), uint64(i))
				for range 5 {
					must[lock.Grant](t)(r.Lock(ctx))
					inside++
					turns++
					if inside > 1 {
						t.Error("two owners")
					}
					time.Sleep(50 * time.Millisecond)
					inside--
					must[int](t)(r.Unlock(ctx))
				}
				done <- true
			}()
		}
		for range 4 {
			<-done
		}
		start := time.Now()
		must[lock.Grant](t)(s.red("x", 9).Lock(ctx, lock.Lease(time.Minute)))
		_, err := s.red("y", 8).TryLock(ctx, lock.Wait(3*time.Second))
		wantErr(t, "try", err, lock.ErrBusy)
		if d := time.Since(start); d > 3100*time.Millisecond {
			t.Errorf("a wait of 3s took %v", d)
		}
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = s.red("z", 7).Lock(bounded)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("lock with an expired context: %v", err)
		}
		if n := s.held(); turns != 20 || n != 3 {
			t.Errorf("%d turns, %d members held", turns, n)
		}
	})
}

// The grant names what is left of the lease when the last member was granted.
func TestRedLock_grantNamesTheValidity(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		for _, w := range s.worlds {
			w.setLatency(20 * time.Millisecond)
		}
		g := must[lock.Grant](t)(s.red("a", 1).TryLock(t.Context(), lock.Lease(10*time.Second)))
		if want := 10*time.Second - 100*time.Millisecond - 2*time.Millisecond; g.Lease > want-20*time.Millisecond || g.Lease < want-200*time.Millisecond {
			t.Errorf("a lease of %v, want %v less the time that it took", g.Lease, want)
		}
	})
}
