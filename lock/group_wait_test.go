package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// The context of an acquire ends. Its error is certain if all members have answered, and
// unknown if one has not.
func TestGroup_contextEnds(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		for _, w := range s.worlds {
			w.occupy("orders")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := g.Acquire(ctx)
		wantErr(t, "all members are busy", err, context.DeadlineExceeded)
		for _, w := range s.worlds {
			w.vacate("orders")
			w.hung.Store(true)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = g.Acquire(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("no member answers: %v", err)
		}
		for _, w := range s.worlds {
			w.hung.Store(false)
		}
	})
}

// unlockUnanswered takes a group and releases it, while all servers but the first hang.
// They hang afterwards.
func (s *servers) unlockUnanswered(t *testing.T, g *lock.Group) {
	t.Helper()
	must[lock.Grant](t)(g.Lock(t.Context()))
	for _, w := range s.worlds[1:] {
		w.hung.Store(true)
	}
	_, err := g.Unlock(t.Context())
	wantErr(t, "unlock", err, lock.ErrUnknown)
}

// Too many servers do not answer: the outcome is unknown, and the error says so. The same
// release can be repeated.
func TestGroup_noAnswer(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		s.unlockUnanswered(t, g)
		for _, w := range s.worlds[1:] {
			w.hung.Store(false)
		}
		if n := must[int](t)(g.Unlock(ctx)); n != 0 || s.held() != 0 {
			t.Errorf("%d holds remain, %d members are held", n, s.held())
		}
		for _, w := range s.worlds {
			w.hung.Store(true)
		}
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := g.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("lock: %v", err)
		}
		for _, w := range s.worlds {
			w.hung.Store(false)
		}
	})
}

// After a release of unknown outcome the same owner may ask again. It ends what the
// release left, and takes the group anew.
func TestGroup_lockAfterAnUnknownUnlock(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, need int) {
		ctx := t.Context()
		s.unlockUnanswered(t, g)
		for _, wait := range []time.Duration{time.Second, 500 * time.Millisecond, 100 * time.Millisecond} {
			start := time.Now()
			_, err := g.TryLock(ctx, lock.Wait(wait))
			if d := time.Since(start); !errors.Is(err, lock.ErrUnknown) && !errors.Is(err, lock.ErrRefused) || d > wait+550*time.Millisecond {
				t.Errorf("lock without an answer, with a wait of %v: %v after %v", wait, err, d)
			}
		}
		for _, w := range s.worlds[1:] {
			w.hung.Store(false)
		}
		if got := must[lock.Grant](t)(g.Lock(ctx)); got.Count != 1 || s.held() < need {
			t.Errorf("count %d on %d servers", got.Count, s.held())
		}
		if n := must[int](t)(g.Unlock(ctx)); n != 0 {
			t.Errorf("%d holds remain", n)
		}
	})
}

// Members stop answering one after the other: their give-backs exceed the wait by one grace
// together, and not by one each.
func TestGroup_graceIsOne(t *testing.T) {
	inBoth(t, func(t *testing.T, s *servers, g *lock.Group, _ int) {
		const wait, grace = time.Second, 500 * time.Millisecond
		for _, w := range s.worlds[1:] {
			w.hung.Store(true)
		}
		time.AfterFunc(wait/2, func() { s.worlds[0].hung.Store(true) })
		start := time.Now()
		_, err := g.Acquire(t.Context(), lock.Wait(wait))
		wantErr(t, "acquire", err, lock.ErrUnknown)
		if d := time.Since(start); d > wait+grace+grace/10 {
			t.Errorf("a wait of %v took %v", wait, d)
		}
		for _, w := range s.worlds {
			w.hung.Store(false)
		}
	})
}

// A nested acquire ends with its wait, and with its hold, whatever the servers do meanwhile. It
// counts as no hold. So does one that waits for another call of the same owner.
func TestGroup_nestedWaitIsOver(t *testing.T) {
	for _, c := range []struct {
		name        string
		lease, wait time.Duration
		most        time.Duration
		want        error
	}{
		{"before the hold", time.Minute, time.Second, 1100 * time.Millisecond, lock.ErrUnknown},
		{"after the hold", time.Second, time.Hour, time.Second, lock.ErrLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, s *servers, g *lock.Group, _ int) {
				ctx := t.Context()
				start := time.Now()
				must[lock.Grant](t)(g.Lock(ctx, lock.Lease(c.lease)))
				for _, w := range s.worlds {
					w.hung.Store(true)
				}
				behind := make(chan error)
				go func() {
					time.Sleep(time.Millisecond)
					_, err := g.TryLock(ctx, lock.Wait(time.Millisecond))
					behind <- err
				}()
				_, err := g.TryLock(ctx, lock.Wait(c.wait))
				wantErr(t, "nested", err, c.want)
				if d := time.Since(start); errors.Is(err, context.DeadlineExceeded) || d > c.most {
					t.Errorf("%v after %v", err, d)
				}
				wantErr(t, "behind it", <-behind, lock.ErrBusy)
				for _, w := range s.worlds {
					w.hung.Store(false)
				}
				n, err := g.Unlock(ctx)
				if n != 0 || err != nil && !errors.Is(err, c.want) {
					t.Errorf("unlock: %v, %d holds remain", err, n)
				}
				_, err = g.Unlock(ctx)
				wantErr(t, "second unlock", err, lock.ErrNotHeld)
			})
		})
	}
}
