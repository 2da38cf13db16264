package room

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Quorum is a semaphore on several servers, as RedlockSemaphore of redis-semaphore is one.
// An owner asks all servers at once, and needs permits of so many. Three owners can have two
// of three servers each, when each server has two permits. So a semaphore of two permits
// needs all three.
type Quorum struct {
	Servers []*Room // one owner's view of each
	Needed  int
	Rand    *rand.Rand

	until time.Time
}

// Enter takes a permit, and waits for it until ctx ends. It then returns [ErrFull]. It
// returns [ErrUnclear] at once if a server that it needs does not answer.
func (q *Quorum) Enter(ctx context.Context) error {
	for {
		sent := time.Now()
		granted, err := q.each(func(m *Room) error { return m.try(ctx, 1) })
		if granted >= q.Needed && time.Since(sent) < q.Servers[0].Lease {
			q.until = sent.Add(q.Servers[0].Lease - scoreUnit)
			return nil
		}
		_, _ = q.each(func(m *Room) error { return m.Leave(ctx) }) // else the leases end it
		if isUnclear(err) {
			return fmt.Errorf("enter %s: %w", q.Servers[0].Name, err)
		}
		pause := Poll/2 + time.Duration(q.Rand.Int64N(int64(Poll/2)))
		select {
		case <-ctx.Done():
			return fmt.Errorf("enter %s: %w", q.Servers[0].Name, cmp.Or(err, ErrUnclear)) // all agreed, after the lease
		case <-time.After(pause):
		}
	}
}

// Until is the end of the permit.
func (q *Quorum) Until() time.Time { return q.until }

// Leave gives the permit back, also if ctx has ended.
func (q *Quorum) Leave(ctx context.Context) error {
	left, err := q.each(func(m *Room) error { return m.Leave(ctx) })
	if left >= q.Needed {
		return nil
	}
	return fmt.Errorf("leave %s: %w", q.Servers[0].Name, err)
}

// each asks all servers at once. It returns how many agreed, and the error of one that did
// not, an unclear one first.
func (q *Quorum) each(ask func(*Room) error) (agreed int, first error) {
	errs := make([]error, len(q.Servers))
	var all sync.WaitGroup
	for i, m := range q.Servers {
		all.Go(func() { errs[i] = ask(m) })
	}
	all.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			agreed++
		case first == nil || isUnclear(err):
			first = err
		}
	}
	return agreed, first
}
