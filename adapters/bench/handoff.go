package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	// settle is the time of a hold, so that all others wait for the lock when it is
	// released.
	settle      = 3 * time.Millisecond
	handoffName = "bench:handoff:" // and the contender
)

// handoffs has the times that one contender took to hand a lock on.
type handoffs struct {
	took    []float64 // microseconds, from the call of release to the next grant
	p50     []float64 // per round
	counted commands
	grants  int // while commands were counted
}

// handoffCase has the number of waiters. It says whether each has a client of its own, as
// in processes of their own, or all share one.
type handoffCase struct {
	waiters int
	apart   bool
}

// contended measures hand-offs, for a span of each contender in turn. Nothing is left
// out: a hand-off lasts from the release, however late the grant comes.
func contended(ctx context.Context, srv *server, contenders []contender, hc handoffCase, rounds int, span time.Duration) ([]handoffs, []error, error) {
	out := make([]handoffs, len(contenders))
	why := make([]error, len(contenders))
	queues := make([]queue, len(contenders))
	defer func() {
		for _, q := range queues {
			q.close()
		}
	}()
	for i, s := range contenders {
		if s.foreign && hc.apart {
			why[i] = errors.New("its waiters are threads of one process here")
			continue
		}
		if queues[i], why[i] = openQueue(ctx, srv.addr, s, hc); ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
	}
	for round := -1; round < rounds; round++ { // the first warms up
		for i := range contenders {
			if why[i] != nil {
				continue
			}
			took, err := queues[i].run(ctx, span)
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			if err != nil {
				why[i] = fmt.Errorf("hand on: %w", err)
				continue
			}
			if round >= 0 {
				out[i].took = append(out[i].took, took...)
				out[i].p50 = append(out[i].p50, median(took))
			}
		}
	}
	for i := range contenders {
		if why[i] != nil {
			continue
		}
		var err error
		out[i].counted, err = srv.count(ctx, func() error {
			took, err := queues[i].run(ctx, span)
			out[i].grants = len(took)
			return err
		})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			why[i] = fmt.Errorf("count its commands: %w", err)
		}
	}
	return out, why, nil
}

// queue is a holder and those who wait, by turns.
type queue struct {
	lock    string   // its name, before the number of the run
	runs    int      // so far
	clients []client // of each; all the same where they share one
	shared  bool
}

func openQueue(ctx context.Context, addr string, s contender, hc handoffCase) (queue, error) {
	q := queue{lock: handoffName + s.name, shared: !hc.apart}
	for range hc.waiters + 1 {
		if q.shared && len(q.clients) > 0 {
			q.clients = append(q.clients, q.clients[0])
			continue
		}
		c, err := s.open(ctx, addr, defaultLease)
		if err != nil {
			q.close()
			return queue{}, err
		}
		q.clients = append(q.clients, c)
	}
	return q, nil
}

func (q queue) close() {
	for _, c := range q.clients {
		_ = c.close() // the server goes away in any case
		if q.shared {
			return
		}
	}
}

// baton carries messages between those in a queue.
type baton struct {
	mu       sync.Mutex
	released time.Time     // when the last release was called
	next     chan struct{} // closed with the grant that follows it
	took     []float64
}

// granted ends a hand-off; the first grant of a run follows none.
func (b *baton) granted(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		b.took = append(b.took, micros(at.Sub(b.released)))
		close(b.next)
		b.next = nil
	}
}

func (b *baton) releasing() (next <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := make(chan struct{})
	b.next, b.released = ch, time.Now()
	return ch
}

// run lets the queue work for a span and returns how long the hand-offs took. An owner
// that has released the lock queues again only when another one has it. Each run has a
// lock of its own. A client that does not take back an acquire which the end of a run
// cancels may keep the lock of that run.
func (q *queue) run(ctx context.Context, span time.Duration) ([]float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.runs++
	name := fmt.Sprintf("%s:%d", q.lock, q.runs)
	end := time.Now().Add(span)
	late := time.AfterFunc(span+stuck, func() { cancel(errStuck) })
	defer late.Stop()
	var b baton
	errs := make([]error, len(q.clients))
	var wg sync.WaitGroup
	for i, c := range q.clients {
		wg.Go(func() {
			if err := b.work(ctx, c, name, strconv.Itoa(i), end); err != nil && ctx.Err() == nil {
				errs[i] = err
			}
			cancel(nil) // one has ended: so do all
		})
	}
	wg.Wait()
	if context.Cause(ctx) == errStuck {
		return nil, errStuck
	}
	return b.took, errors.Join(errs...)
}

var errStuck = errors.New("no owner was granted the lock any more")

func (b *baton) work(ctx context.Context, c client, lock, owner string, end time.Time) error {
	for {
		h, err := c.acquire(ctx, lock, owner)
		if err != nil {
			return err
		}
		b.granted(time.Now())
		pause(ctx, settle)
		next := b.releasing()
		if err := h.release(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// roundTrip is the median time of a PING after the same pause that goes before a
// hand-off, in microseconds. A machine that was idle answers later.
func roundTrip(ctx context.Context, srv *server, n int) (float64, error) {
	took := make([]float64, 0, n)
	for range n {
		pause(ctx, settle)
		at := time.Now()
		if err := srv.control.Ping(ctx).Err(); err != nil {
			return 0, err
		}
		took = append(took, micros(time.Since(at)))
	}
	return median(took), nil
}
