package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// foreign is a member of another package. It is held in this process, and does what
// a test says.
type foreign struct {
	grant   lock.Grant
	acquire func(ctx context.Context, n int) error // the outcome of the n-th acquire, from 1
	release func(n int) error                      // the outcome of the n-th release; nil releases

	mu       sync.Mutex
	held     int
	acquires []time.Time // when it was asked
	releases int
}

func (f *foreign) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return f.TryLock(ctx, opts...)
}

func (f *foreign) TryLock(ctx context.Context, _ ...lock.AcquireOption) (lock.Grant, error) {
	f.mu.Lock()
	f.acquires = append(f.acquires, time.Now())
	n := len(f.acquires)
	f.mu.Unlock()
	if f.acquire != nil {
		if err := f.acquire(ctx, n); err != nil {
			return lock.Grant{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held++
	g := f.grant
	g.Count = f.held
	return g, nil
}

func (f *foreign) Unlock(context.Context) (int, error) {
	f.mu.Lock()
	f.releases++
	n := f.releases
	f.mu.Unlock()
	if f.release != nil {
		if err := f.release(n); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == 0 {
		return 0, lock.ErrNotHeld
	}
	f.held--
	return f.held, nil
}

// wantHeld checks how often a member is held, and was released.
func (f *foreign) wantHeld(t *testing.T, held, releases int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != held || f.releases != releases {
		t.Errorf("it is held %d times after %d releases, want %d after %d", f.held, f.releases, held, releases)
	}
}

// telling is a foreign member that tells its holder of a loss.
type telling struct {
	foreign
	lost chan struct{}
}

func newTelling() *telling {
	return &telling{foreign: foreign{grant: lock.Grant{Renewed: true}}, lost: make(chan struct{})}
}

func (f *telling) Lost() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == 0 {
		return nil
	}
	return f.lost
}

// always is an outcome of every request.
func always(err error) func(context.Context, int) error {
	return func(context.Context, int) error { return err }
}

var errDown = errors.New("the server is down")

// The lease of a group is the shortest of its members', less the time since, 1% and
// 2 ms. A member whose hold never ends does not count.
func TestMultiLock_leaseOfForeignMembers(t *testing.T) {
	for _, c := range []struct {
		leases []time.Duration
		want   time.Duration
	}{
		{[]time.Duration{5 * time.Second, 3 * time.Second, 8 * time.Second}, 3 * time.Second},
		{[]time.Duration{3 * time.Second, 5 * time.Second}, 3 * time.Second},
		{[]time.Duration{0, 5 * time.Second}, 5 * time.Second},
		{[]time.Duration{5 * time.Second, 0}, 5 * time.Second},
	} {
		inBubble(t, func(t *testing.T, _ *world) {
			var members []lock.Locker
			for _, d := range c.leases {
				members = append(members, &foreign{grant: lock.Grant{Lease: d}})
			}
			m := lock.NewMultiLock(members...)
			g := must[lock.Grant](t)(m.TryLock(t.Context()))
			if want := c.want - c.want/100 - 2*time.Millisecond; g.Lease != want || time.Until(g.Until) != want || g.Renewed {
				t.Errorf("members with leases of %v: %+v, want a lease of %v", c.leases, g, want)
			}
			must[int](t)(m.Unlock(t.Context()))
		})
	}
}

// A group whose members never expire is as good as for ever, by the longest lease
// that can be said.
func TestMultiLock_ofMembersThatNeverEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		m := lock.NewMultiLock(&foreign{}, &foreign{})
		g := must[lock.Grant](t)(m.TryLock(t.Context()))
		if g.Lease < 250*365*24*time.Hour {
			t.Errorf("a lease of %v", g.Lease)
		}
		must[int](t)(m.Unlock(t.Context()))
	})
}

// A lease that ends exactly when the last member is granted is over. The rest of it is no
// hold without an end.
func TestMultiLock_leaseEndsWithTheLastGrant(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		first := &foreign{grant: lock.Grant{Lease: time.Second}}
		second := &foreign{acquire: func(context.Context, int) error {
			time.Sleep(time.Second - 10*time.Millisecond - 2*time.Millisecond)
			return nil
		}}
		g, err := lock.NewMultiLock(first, second).TryLock(t.Context())
		if !errors.Is(err, lock.ErrBusy) {
			t.Errorf("%+v, %v, want busy", g, err)
		}
		first.wantHeld(t, 0, 1)
		second.wantHeld(t, 0, 1)
	})
}

// A group refuses what no member can do, before it asks one.
func TestGroup_refuses(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *world) {
				ctx := t.Context()
				if _, err := group(nil).TryLock(ctx); err == nil || errors.Is(err, lock.ErrBusy) {
					t.Errorf("a group without members: %v", err)
				}
				if _, err := group(nil).Lock(ctx); err == nil {
					t.Error("a group without members was granted")
				}
				member := &foreign{grant: lock.Grant{Lease: 5 * time.Millisecond}}
				g := group([]lock.Locker{member})
				for _, d := range []time.Duration{-time.Second, 1, time.Millisecond / 2, 3*time.Millisecond - 1} {
					if _, err := g.TryLock(ctx, lock.Lease(d)); err == nil || errors.Is(err, lock.ErrBusy) {
						t.Errorf("a lease of %v: %v", d, err)
					}
				}
				if n := len(member.acquires); n > 0 {
					t.Errorf("its member was asked %d times", n)
				}
				must[lock.Grant](t)(g.TryLock(ctx, lock.Lease(5*time.Millisecond)))
				must[int](t)(g.Unlock(ctx))
				member.grant.Lease = time.Millisecond // which Redis can count, and drift eats
				_, err := g.TryLock(ctx, lock.Lease(5*time.Millisecond))
				wantErr(t, "a grant for 1ms", err, lock.ErrBusy)
			})
		})
	}
}

// An acquire of unknown outcome may hold a member that cannot take it back itself, so
// the group releases it. It leaves the members alone that were busy, and the holds of
// its own outer levels.
func TestGroup_releasesMembersOfUnknownOutcome(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *world) {
				ctx := t.Context()
				unclear := func(from int) func(context.Context, int) error {
					return func(_ context.Context, n int) error {
						if n >= from {
							return lock.ErrUnknown
						}
						return nil
					}
				}
				sure, busy := &foreign{}, &foreign{acquire: always(lock.ErrBusy)}
				_, err := group([]lock.Locker{sure, busy}).TryLock(ctx)
				wantErr(t, "busy", err, lock.ErrBusy)
				sure.wantHeld(t, 0, 1)
				busy.wantHeld(t, 0, 0)

				sure, unknown := &foreign{}, &foreign{acquire: unclear(1)}
				_, err = group([]lock.Locker{sure, unknown}).TryLock(ctx)
				wantErr(t, "unknown", err, lock.ErrUnknown)
				sure.wantHeld(t, 0, 1)
				unknown.wantHeld(t, 0, 1)

				sure, unknown = &foreign{}, &foreign{acquire: unclear(2)}
				g := group([]lock.Locker{sure, unknown})
				must[lock.Grant](t)(g.TryLock(ctx))
				_, err = g.TryLock(ctx)
				wantErr(t, "unknown within a hold", err, lock.ErrUnknown)
				sure.wantHeld(t, 1, 1)
				unknown.wantHeld(t, 1, 0)
				must[int](t)(g.Unlock(ctx))
				sure.wantHeld(t, 0, 2)
				unknown.wantHeld(t, 0, 1)
			})
		})
	}
}

// A round failed, and the release of a member that it had is not answered: the
// outcome is unknown, whatever the reason of the failure.
func TestGroup_unknownReleaseOfAFailedRound(t *testing.T) {
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *world) {
				down := func() *foreign { return &foreign{acquire: always(errDown)} }
				for _, released := range []error{lock.ErrUnknown, lock.ErrNotHeld, nil} {
					had := &foreign{release: func(int) error { return released }}
					_, err := group([]lock.Locker{had, down(), down()}).TryLock(t.Context())
					if !errors.Is(err, errDown) || errors.Is(err, lock.ErrUnknown) != (released == lock.ErrUnknown) || errors.Is(err, lock.ErrNotHeld) {
						t.Errorf("released with %v: %v", released, err)
					}
				}
			})
		})
	}
}
