package lock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
)

// Two of five servers are no majority, because two owners could have two each. Three are one.
func TestRedLock_majority(t *testing.T) {
	for others, want := range map[int]error{2: nil, 3: lock.ErrBusy} {
		inBubbles(t, 5, func(t *testing.T, s *servers) {
			for _, w := range s.worlds[:others] {
				w.occupy("orders")
			}
			_, err := lock.NewRedLock(options(1), s.members()...).Acquire(t.Context(), lock.Wait(0))
			if !errors.Is(err, want) {
				t.Errorf("others have %d of 5 members: %v, want %v", others, err, want)
			}
		})
	}
}

// A member whose acquire had no answer may have been granted. It does not count as free, so
// a release waits for the two others.
func TestRedLock_releaseWithoutAnUnsureMember(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		g := lock.NewRedLock(options(1), s.members()...)
		s.worlds[0].hung.Store(true)
		h := must[*lock.GroupHold](t)(g.Acquire(t.Context()))
		s.worlds[2].setLatency(300 * time.Millisecond)
		if err := h.Release(t.Context()); err != nil || s.worlds[2].server.Exists("orders") {
			t.Errorf("released with %v; a second server has the lock: %v", err, s.worlds[2].server.Exists("orders"))
		}
		s.worlds[0].hung.Store(false)
	})
}

// Two of three servers do not answer. The error says so, and not that somebody else has the
// lock, nor that the context of the caller has ended.
func TestRedLock_mostAreStopped(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		for _, w := range s.worlds[1:] {
			w.hung.Store(true)
		}
		_, err := lock.NewRedLock(options(1), s.members()...).Acquire(t.Context(), lock.Wait(0))
		wantErr(t, "acquire", err, lock.ErrUnknown)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context of the call has not ended: %v", err)
		}
		for _, member := range []string{"member 1", "member 2"} {
			if !strings.Contains(err.Error(), member) {
				t.Errorf("%q does not name %s", err, member)
			}
		}
		for _, w := range s.worlds[1:] {
			w.hung.Store(false)
		}
	})
}

// No connection to any server comes about until the caller's context ends. Nothing was sent,
// so the error has no doubt about the outcome.
func TestRedLock_contextEndsBeforeTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var members []lock.Member
		for i := range 3 {
			rdb := w.redis(func(o *redis.Options) {
				o.Dialer = func(context.Context, string, string) (net.Conn, error) {
					time.Sleep(time.Second)
					return nil, errDown
				}
			})
			members = append(members, lock.Member{Client: w.clientOn(rdb), Name: fmt.Sprint("orders ", i)})
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := lock.NewRedLock(options(1), members...).Acquire(ctx)
		wantErr(t, "acquire", err, context.DeadlineExceeded)
		if errors.Is(err, lock.ErrUnknown) {
			t.Errorf("nothing was sent: %v", err)
		}
		time.Sleep(time.Minute) // the connections are given up
	})
}

// A server was lost after the acquire, and another one never had the hold. The rest is no
// majority, so the work was not protected to its end.
func TestRedLock_releaseFindsTooFew(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		s.worlds[0].occupy("orders")
		h := must[*lock.GroupHold](t)(lock.NewRedLock(options(1), s.members()...).Acquire(t.Context(), lock.Wait(0)))
		s.worlds[1].server.Del("orders")
		wantErr(t, "release", h.Release(t.Context()), lock.ErrLost)
	})
}

// Some members have lost the lock, and others do not answer to a release. It says that the
// group was lost once that is certain, and never that it was held to its end before that is.
func TestRedLock_releaseOfLostAndSilentMembers(t *testing.T) {
	for name, tt := range map[string]struct {
		lost, silent []int
		first        error
		lostLater    []int
		second       error
	}{
		"one is lost and one is silent":    {[]int{0}, []int{2}, lock.ErrUnknown, nil, nil},
		"the silent one is lost as well":   {[]int{0}, []int{2}, lock.ErrUnknown, []int{2}, lock.ErrLost},
		"two are lost and one is silent":   {[]int{0, 1}, []int{2}, lock.ErrLost, nil, lock.ErrLost},
		"one is lost and one later":        {[]int{0}, []int{1, 2}, lock.ErrUnknown, []int{1}, lock.ErrLost},
		"one is silent, and it is no loss": {nil, []int{2}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				h := must[*lock.GroupHold](t)(lock.NewRedLock(options(1), s.members()...).Acquire(t.Context(), lock.Lease(time.Minute)))
				for _, i := range tt.lost {
					s.worlds[i].server.Del("orders")
				}
				for _, i := range tt.silent {
					s.worlds[i].hung.Store(true)
				}
				wantErr(t, "first release", h.Release(t.Context()), tt.first)
				for _, i := range tt.lostLater {
					s.worlds[i].server.Del("orders")
				}
				for _, i := range tt.silent {
					s.worlds[i].hung.Store(false)
				}
				wantErr(t, "second release", h.Release(t.Context()), tt.second)
				select {
				case <-h.Lost():
					if tt.second == nil {
						t.Error("a loss is reported")
					}
				default:
					if tt.second == lock.ErrLost {
						t.Error("the loss is not reported")
					}
				}
			})
		})
	}
}

// A group whose clients are closed can release nothing, and says so again and again.
func TestGroup_closedClients(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, _ int) {
		must[lock.Grant](t)(g.Lock(t.Context()))
		for _, c := range s.clients {
			c.Close()
		}
		for range 2 {
			_, err := g.Unlock(t.Context())
			wantErr(t, "unlock", err, lock.ErrClosed)
		}
		if n := s.held(); n != 3 {
			t.Errorf("%d members are held", n)
		}
	})
}

// Clients close while a MultiLock has some of its members and waits for the last one. It
// gives back what it has.
func TestMultiLock_closedDuringARound(t *testing.T) {
	inBubbles(t, 3, func(t *testing.T, s *servers) {
		s.worlds[2].occupy("orders")
		acquired := make(chan error)
		go func() {
			_, err := lock.NewMultiLock(options(1), s.members()...).Acquire(t.Context())
			acquired <- err
		}()
		time.Sleep(100 * time.Millisecond)
		if s.held() != 3 {
			t.Errorf("%d members are held when the clients close", s.held())
		}
		for _, c := range s.clients {
			go c.Close()
		}
		wantErr(t, "acquire", <-acquired, lock.ErrClosed)
		if n := s.held(); n != 1 {
			t.Errorf("%d members are held, want the one of the other owner", n)
		}
	})
}

// A nested Lock refuses a lease of which the allowance for drift leaves nothing, as the outer
// one does. It counts as no hold.
func TestGroup_nestedLeaseTooShort(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, _ int) {
		tooShort := func() {
			t.Helper()
			before := s.held()
			if _, err := g.Lock(t.Context(), lock.Lease(2*time.Millisecond)); err == nil || s.held() != before {
				t.Errorf("a lease of 2ms: %v, %d members are held, and %d were before", err, s.held(), before)
			}
		}
		tooShort()
		must[lock.Grant](t)(g.Lock(t.Context(), lock.Lease(3*time.Second)))
		tooShort()
		if n := must[int](t)(g.Unlock(t.Context())); n != 0 {
			t.Errorf("%d holds remain", n)
		}
	})
}

// The holds of an earlier round are in the way of the next ones, and no other owner is. The
// acquire says that its outcome is unknown, also when its context ends.
func TestRedLock_itsOwnLeftovers(t *testing.T) {
	for name, ends := range map[string]bool{"the wait is over": false, "the context ends": true} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, 3, func(t *testing.T, s *servers) {
				for _, w := range s.worlds {
					w.loadScripts()
				}
				start := time.Now()
				for _, w := range s.worlds {
					lost := func(cmd string, args []string) bool {
						return entry{cmd: cmd, args: args}.script() && time.Since(start) < 100*time.Millisecond
					}
					w.drop.Store(&lost) // the answers of the first round
					w.answers(func(_ *server.Peer, cmd string, args ...string) bool {
						return entry{cmd: cmd, args: args}.releases() && time.Since(start) < time.Second
					})
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				opts := []lock.AcquireOption{lock.Wait(450 * time.Millisecond)}
				if ends {
					opts = nil
				}
				_, err := lock.NewRedLock(options(1), s.members()...).Acquire(ctx, opts...)
				if !errors.Is(err, lock.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) != ends {
					t.Errorf("lock: %v after %v", err, time.Since(start))
				}
				if n := s.held(); n != 3 {
					t.Errorf("the first round has left %d holds: the test shows nothing", n)
				}
				time.Sleep(3 * time.Second)
				if n := s.held(); n != 0 {
					t.Errorf("%d members are held at the end", n)
				}
			})
		})
	}
}
