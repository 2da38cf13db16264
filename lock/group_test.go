package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/lock"
)

// errDown is an error of a server that nothing reaches.
var errDown = errors.New("the server is down")

// servers is n independent servers with a client each.
type servers struct {
	worlds  []*world
	clients []*lock.Client
}

func inBubbles(t *testing.T, n int, f func(t *testing.T, s *servers)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) {
		s := &servers{worlds: []*world{w}}
		for len(s.worlds) < n {
			s.worlds = append(s.worlds, newWorld(t))
		}
		for _, w := range s.worlds {
			defer w.close()
			c := w.clientOn(w.redis(noRetries), lock.WithFencing())
			must[bool](t)(c.NewLock("orders", "nobody").IsLocked(t.Context())) // it has a connection
			s.clients = append(s.clients, c)
		}
		f(t, s)
	})
}

// members are the locks called orders, one on each server.
func (s *servers) members() (all []lock.Member) {
	for _, c := range s.clients {
		all = append(all, lock.Member{Client: c, Name: "orders"})
	}
	return all
}

// kinds are the groups of three members, and how many of these they need.
var kinds = map[string]struct {
	make func(lock.GroupOptions, ...lock.Member) *lock.Group
	need int
}{"multi": {lock.NewMultiLock, 3}, "red": {lock.NewRedLock, 2}}

// inBoth runs f with a group of each kind, on three servers.
func inBoth(t *testing.T, f func(t *testing.T, s *servers, g *lock.Group, need int)) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				f(t, s, kind.make(options(1), s.members()...), kind.need)
			})
		})
	}
}

func options(seed uint64) lock.GroupOptions {
	return lock.GroupOptions{Rand: rand.New(rand.NewPCG(seed, 0))}
}

// held is the number of servers on which the lock is held.
func (s *servers) held() (n int) {
	for _, w := range s.worlds {
		if w.server.Exists("orders") {
			n++
		}
	}
	return n
}

// A member that somebody else has is enough to keep all others free, or a majority.
func TestGroup_allOrNone(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		for i := range 4 - need { // so many are too many
			s.worlds[2-i].occupy("orders")
		}
		_, err := g.TryLock(ctx)
		wantErr(t, "try", err, lock.ErrBusy)
		start := time.Now()
		_, err = g.TryLock(ctx, lock.Wait(2*time.Second))
		wantErr(t, "wait", err, lock.ErrBusy)
		if d := time.Since(start); d > 2100*time.Millisecond {
			t.Errorf("a wait of 2s took %v", d)
		}
		_, err = g.Acquire(ctx, lock.Wait(0))
		wantErr(t, "one round", err, lock.ErrBusy)
		if n := s.held(); n != 4-need {
			t.Errorf("%d members are locked after a failed try, want those of others", n)
		}
		time.AfterFunc(7*time.Second, func() { s.worlds[2].vacate("orders") })
		if got := must[lock.Grant](t)(g.Lock(ctx)); got.Count != 1 || !got.Renewed || s.held() != 3 {
			t.Errorf("granted %+v, %d are held", got, s.held())
		}
	})
}

// The owner that a group is counts its holds in the group. An inner Unlock asks whether
// they are held, so it does not succeed after a loss.
func TestGroup_reentrant(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, _ int) {
		ctx := t.Context()
		must[lock.Grant](t)(g.Lock(ctx))
		if got := must[lock.Grant](t)(g.TryLock(ctx)); got.Count != 2 {
			t.Errorf("nested: %+v", got)
		}
		before := s.worlds[0].count("EVAL")
		if n := must[int](t)(g.Unlock(ctx)); n != 1 || s.worlds[0].count("EVAL") != before+1 || s.held() != 3 {
			t.Errorf("%d holds remain, %d requests, %d members are held", n, s.worlds[0].count("EVAL")-before, s.held())
		}
		if n := must[int](t)(g.Unlock(ctx)); n != 0 || s.held() != 0 {
			t.Errorf("%d holds remain, %d members are held", n, s.held())
		}
		_, err := g.Unlock(ctx)
		wantErr(t, "third unlock", err, lock.ErrNotHeld)

		must[lock.Grant](t)(g.Lock(ctx))
		must[lock.Grant](t)(g.Lock(ctx))
		for _, w := range s.worlds[:2] {
			w.vacate("orders")
		}
		_, err = g.Unlock(ctx)
		wantErr(t, "inner unlock after a loss", err, lock.ErrLost)
		_, err = g.Unlock(ctx)
		wantErr(t, "outer unlock after a loss", err, lock.ErrLost)
		_, err = g.Unlock(ctx)
		wantErr(t, "unlock once more", err, lock.ErrNotHeld)
	})
}

// A nested Lock raises the lease, and never shortens it.
func TestGroup_nestedLease(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, _ int) {
		ctx := t.Context()
		start := time.Now()
		for _, step := range []struct {
			lease, least, most time.Duration
			renewed            bool
		}{
			{5 * time.Second, 4 * time.Second, 5 * time.Second, false},
			{20 * time.Second, 19 * time.Second, 20 * time.Second, false},
			{time.Second, 19 * time.Second, 20 * time.Second, false},
			{0, 30 * time.Second, 30 * time.Second, true},
		} {
			got := must[lock.Grant](t)(g.Lock(ctx, lock.Lease(step.lease)))
			if got.Lease < step.least || got.Lease > step.most || got.Renewed != step.renewed || got.Until.IsZero() != step.renewed {
				t.Errorf("a lease of %v: %+v", step.lease, got)
			}
		}
		whole := time.Now()
		time.Sleep(9 * time.Second)
		if at := s.worlds[0].renewals("@orders", whole.Add(s.worlds[0].latency())); len(at) != 0 {
			t.Errorf("a whole lease is renewed after %v", at)
		}
		time.Sleep(time.Minute)
		for left := 3; left >= 0; left-- {
			if n := must[int](t)(g.Unlock(ctx)); n != left {
				t.Errorf("%d holds remain, want %d, %v after the start", n, left, time.Since(start))
			}
		}
	})
}

// Each Acquire is an owner.
func TestGroup_acquire(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		waits, cancel := context.WithCancel(ctx)
		h := must[*lock.GroupHold](t)(g.Acquire(waits))
		cancel()
		if h.Context().Err() != nil || h.Remaining() < 29*time.Second {
			t.Errorf("%v remain; the work: %v", h.Remaining(), h.Context().Err())
		}
		_, err := g.Acquire(ctx, lock.Wait(0))
		wantErr(t, "a second call", err, lock.ErrBusy)
		tokens := h.Tokens()
		if len(tokens) != 3 || slices.Contains(tokens, 0) {
			t.Errorf("tokens %v", tokens)
		}
		if err := h.Extend(ctx, time.Hour); err != nil || h.Remaining() < 59*time.Minute {
			t.Errorf("extended: %v, %v remain", err, h.Remaining())
		}
		if err := h.Release(ctx); err != nil || s.held() != 0 {
			t.Errorf("release: %v, %d are held", err, s.held())
		}
		if context.Cause(h.Context()) != lock.ErrNotHeld || closed(h.Lost()) {
			t.Errorf("after the release: %v, lost %v", context.Cause(h.Context()), closed(h.Lost()))
		}
		wantErr(t, "second release", h.Release(ctx), lock.ErrNotHeld)
		h = must[*lock.GroupHold](t)(g.Acquire(ctx, lock.Lease(5*time.Second)))
		if next := h.Tokens(); next[0] <= tokens[0] || h.Remaining() > 5*time.Second {
			t.Errorf("tokens %v after %v, %v remain", next, tokens, h.Remaining())
		}
		time.Sleep(5 * time.Second)
		wantErr(t, "the lease has ended", h.Release(ctx), lock.ErrLost)
	})
}

// An extension succeeds if enough members are extended, and not with one less.
func TestGroup_extendsEnough(t *testing.T) {
	for lost := range 3 {
		t.Run(fmt.Sprint(lost, " are lost"), func(t *testing.T) {
			inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
				h := must[*lock.GroupHold](t)(g.Acquire(t.Context()))
				for _, w := range s.worlds[:lost] {
					w.server.Del("orders")
				}
				err := h.Extend(t.Context(), time.Hour)
				if 3-lost >= need {
					if err != nil || h.Remaining() < 59*time.Minute {
						t.Errorf("%v, %v remain", err, h.Remaining())
					}
					return
				}
				wantErr(t, "extend", err, lock.ErrLost)
				if !closed(h.Lost()) {
					t.Error("the loss was not notified")
				}
			})
		})
	}
}

// The options have defaults: a round in 200ms on average, and 100ms for a member of a RedLock.
func TestGroup_defaults(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		ctx := t.Context()
		g := lock.NewRedLock(lock.GroupOptions{}, s.members()...)
		s.worlds[0].occupy("orders")
		s.worlds[1].occupy("orders")
		before := s.worlds[0].count("EVALSHA")
		_, err := g.Acquire(ctx, lock.Wait(20*time.Second))
		wantErr(t, "wait", err, lock.ErrBusy)
		if n := s.worlds[0].count("EVALSHA") - before; n < 80 || n > 120 {
			t.Errorf("%d rounds in 20s", n)
		}
		s.worlds[2].hung.Store(true)
		start := time.Now()
		_, err = g.Acquire(ctx, lock.Wait(0))
		wantErr(t, "try", err, lock.ErrBusy)
		if d := time.Since(start); d < 100*time.Millisecond || d > 110*time.Millisecond {
			t.Errorf("a member without an answer took %v", d)
		}
		s.worlds[2].hung.Store(false)
	})
}

// A round fails, and a member that was granted does not answer its release. The error says
// both, and no other round follows.
func TestMultiLock_unknownGiveBack(t *testing.T) {
	inBubbles(t, 2, func(t *testing.T, s *servers) {
		s.worlds[1].occupy("orders")
		s.worlds[1].answers(func(*server.Peer, string, ...string) bool {
			s.worlds[0].hung.Store(true)
			return false
		})
		_, err := lock.NewMultiLock(options(1), s.members()...).Acquire(t.Context())
		if !errors.Is(err, lock.ErrBusy) || !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("%v, want ErrBusy and ErrUnknown", err)
		}
		s.worlds[0].hung.Store(false)
	})
}

// The lease of the first member ends while the others are asked. That is no grant.
func TestMultiLock_leaseEndsDuringTheRound(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		for _, w := range s.worlds {
			w.setLatency(40 * time.Millisecond)
		}
		_, err := lock.NewMultiLock(options(1), s.members()...).Acquire(t.Context(), lock.Lease(100*time.Millisecond), lock.Wait(0))
		wantErr(t, "try", err, lock.ErrBusy)
		time.Sleep(time.Second)
		if n := s.held(); n != 0 {
			t.Errorf("%d members are held", n)
		}
	})
}

// Only a fair lock has a queue, so that a client without one can share all others.
func TestFair_onlyIfAskedFor(t *testing.T) {
	inBubbles(t, 1, func(t *testing.T, s *servers) {
		ctx, w, c := t.Context(), s.worlds[0], s.clients[0]
		w.occupy("orders")
		for name, acquire := range map[string]func() error{
			"Acquire": func() error { _, err := c.Acquire(ctx, "orders", lock.Wait(2*time.Second)); return err },
			"a try":   func() error { _, err := c.Acquire(ctx, "orders", lock.Wait(0)); return err },
			"TryLock": func() error { _, err := c.NewLock("orders", "a").TryLock(ctx, lock.Wait(2*time.Second)); return err },
			"MultiLock": func() error {
				_, err := lock.NewMultiLock(options(1), s.members()...).TryLock(ctx, lock.Wait(2*time.Second))
				return err
			},
			"RedLock": func() error { _, err := lock.NewRedLock(options(1), s.members()...).TryLock(ctx); return err },
		} {
			wantErr(t, name, acquire(), lock.ErrBusy)
			if n := w.count("holdfast_fair"); n > 0 {
				t.Fatalf("%s sent %d requests of a fair lock", name, n)
			}
		}
	})
}

// The time of a round ends while a member is asked. The acquire has more time, and another
// round gets the lock.
func TestMultiLock_roundEndsDuringARequest(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		s.worlds[2].hung.Store(true)
		time.AfterFunc(6*time.Second, func() { s.worlds[2].hung.Store(false) })
		h := must[*lock.GroupHold](t)(lock.NewMultiLock(options(1), s.members()...).Acquire(t.Context(), lock.Wait(20*time.Second)))
		if n := s.held(); n != 3 {
			t.Errorf("%d members are held", n)
		}
		wantErr(t, "release", h.Release(t.Context()), nil)
	})
}

func TestGroup_do(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		failure := errors.New("work failed")
		err := g.Do(ctx, func(ctx context.Context, h *lock.GroupHold) error {
			if s.held() != 3 || ctx.Err() != nil {
				t.Errorf("%d members are held during the work", s.held())
			}
			return failure
		})
		if !errors.Is(err, failure) || s.held() != 0 {
			t.Errorf("%v, %d are held", err, s.held())
		}
		var cause error
		err = g.Do(ctx, func(ctx context.Context, h *lock.GroupHold) error {
			for i := range 4 - need {
				s.worlds[i].server.Del("orders")
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		})
		wantErr(t, "lost during the work", err, lock.ErrLost)
		if cause != lock.ErrLost || s.held() != 0 {
			t.Errorf("the work ended with %v, %d are held", cause, s.held())
		}
		if err := g.Do(ctx, func(ctx context.Context, h *lock.GroupHold) error { return h.Release(ctx) }); err != nil {
			t.Errorf("work has released the lock: %v", err)
		}
		for _, w := range s.worlds {
			w.occupy("orders")
		}
		wantErr(t, "busy", g.Do(ctx, func(context.Context, *lock.GroupHold) error {
			t.Error("it works without the lock")
			return nil
		}, lock.Wait(0)), lock.ErrBusy)
		for _, w := range s.worlds {
			w.vacate("orders")
		}
		if err := g.Do(ctx, nil); err == nil {
			t.Error("no work is no error")
		}
	})
}

// A group is lost when too few members are held. Each of its holds hears of it.
func TestGroup_lost(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		for range 2 {
			must[lock.Grant](t)(g.Lock(ctx))
		}
		lost := g.Lost()
		for i := range 3 - need {
			s.worlds[i].server.Del("orders")
		}
		time.Sleep(time.Minute)
		if closed(lost) {
			t.Fatal("enough members are held, and it is lost")
		}
		s.worlds[2].server.Del("orders")
		<-lost
		_, err := g.Lock(ctx)
		wantErr(t, "a nested lock", err, lock.ErrLost)
		for range 2 {
			n, err := g.Unlock(ctx)
			wantErr(t, "unlock", err, lock.ErrLost)
			if n != 0 {
				t.Errorf("a lost group has %d holds", n)
			}
		}
		if s.held() != 0 {
			t.Errorf("%d members are held", s.held())
		}
		must[lock.Grant](t)(g.Lock(ctx))
		must[int](t)(g.Unlock(ctx))
	})
}

// The others of a lost group are renewed no more.
func TestGroup_lostAndForgotten(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		must[lock.Grant](t)(g.Lock(t.Context()))
		for i := range 4 - need {
			s.worlds[i].server.Del("orders")
		}
		<-g.Lost()
		time.Sleep(31 * time.Second)
		if s.held() != 0 {
			t.Errorf("%d members are held", s.held())
		}
	})
}

// Two owners take the same locks in opposite orders. Neither waits for the other to the
// end of its wait.
func TestMultiLock_oppositeOrders(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.setLatency(10 * time.Millisecond)
		a, b := w.client(), w.client()
		groups := []*lock.Group{
			lock.NewMultiLock(options(1), lock.Member{Client: a, Name: "x"}, lock.Member{Client: a, Name: "y"}),
			lock.NewMultiLock(options(2), lock.Member{Client: b, Name: "y"}, lock.Member{Client: b, Name: "x"}),
		}
		start := time.Now()
		done := make(chan error, 2)
		for _, g := range groups {
			go func() {
				h, err := g.Acquire(ctx, lock.Wait(20*time.Second))
				if err == nil {
					err = h.Release(ctx)
				}
				done <- err
			}()
		}
		for range groups {
			if err := <-done; err != nil {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// One of three servers does not answer. A RedLock goes on without it: no call takes long,
// and the server hears of the release when it is back.
func TestRedLock_withAStoppedMember(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		ctx := t.Context()
		g := lock.NewRedLock(options(1), s.members()...)
		for _, during := range []bool{false, true} {
			s.worlds[2].hung.Store(!during)
			start := time.Now()
			must[lock.Grant](t)(g.TryLock(ctx))
			s.worlds[2].hung.Store(true)
			must[int](t)(g.Unlock(ctx))
			if d := time.Since(start); d > 300*time.Millisecond {
				t.Errorf("stopped while it is held %v: it took %v", during, d)
			}
			s.worlds[2].hung.Store(false)
			time.Sleep(5 * time.Second)
			if n := s.held(); n != 0 {
				t.Errorf("stopped while it is held %v: %d members are held after it is back", during, n)
			}
		}
	})
}

// A server refuses: a MultiLock says so at once, a RedLock does without it.
func TestGroup_refused(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		s.worlds[1].server.Set("orders", "something else")
		_, err := g.Lock(ctx)
		if need < 3 {
			if err != nil || s.held() != 3 {
				t.Errorf("%v, %d are held", err, s.held())
			}
			return
		}
		wantErr(t, "lock", err, lock.ErrRefused)
		if s.held() != 1 { // the other key
			t.Errorf("%d are held", s.held())
		}
	})
}

// A member whose client is closed does not keep the others from their release.
func TestGroup_closedMember(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		must[lock.Grant](t)(g.Lock(ctx))
		s.clients[2].Close()
		if _, err := g.Unlock(ctx); need == 3 && !errors.Is(err, lock.ErrClosed) || need == 2 && err != nil {
			t.Errorf("unlock: %v", err)
		}
		if n := s.held(); n != 1 {
			t.Errorf("%d members are held, want that of the closed client", n)
		}
		_, err := g.TryLock(ctx)
		if need == 3 && !errors.Is(err, lock.ErrClosed) || need == 2 && err != nil {
			t.Errorf("lock: %v", err)
		}
	})
}

func TestGroup_withoutMembers(t *testing.T) {
	for name, kind := range kinds {
		if _, err := kind.make(lock.GroupOptions{}).TryLock(t.Context()); err == nil {
			t.Errorf("%s: granted", name)
		}
	}
}
