package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// renewalCost is the cost of many holds per period, a third of the lease.
type renewalCost struct {
	messages float64       // that the server read
	scripts  float64       // script calls in them
	server   time.Duration // the server was busy with them
}

// renewalPeriods is over how many periods the cost is taken.
const renewalPeriods = 2

// renewals holds many locks at once, and counts what keeps them. Locks that
// leave renewal to their user are renewed one by one, once in a period.
func renewals(ctx context.Context, srv *server, s contender, locks int, lease time.Duration) (renewalCost, error) {
	c, err := s.open(ctx, srv.addr, lease)
	if err != nil {
		return renewalCost{}, err
	}
	defer func() { _ = c.close() }() // the server goes away in any case
	period := lease / 3
	holds := make([]hold, locks)
	stop, quit := context.WithCancel(ctx)
	defer quit()
	var keeping sync.WaitGroup
	var keepErr error
	if err := each(locks, func(i int) (err error) {
		holds[i], err = c.acquire(ctx, "bench:held:"+strconv.Itoa(i), "1")
		return err
	}); err != nil {
		return renewalCost{}, fmt.Errorf("hold %d locks: %w", locks, err)
	}
	if holds[0].renew != nil {
		keeping.Go(func() { keepErr = keep(stop, holds, period) })
	}
	pause(ctx, period*3/2) // the first round is over
	before, err := srv.messages(ctx)
	if err != nil {
		return renewalCost{}, err
	}
	calls, took, err := srv.scriptCallsIn(ctx, renewalPeriods*period)
	if err != nil {
		return renewalCost{}, err
	}
	read, err := srv.messages(ctx)
	if err != nil {
		return renewalCost{}, err
	}
	held, err := srv.control.DBSize(ctx).Result()
	if err != nil {
		return renewalCost{}, err
	}
	quit()
	keeping.Wait()
	if keepErr == nil && held < int64(locks) {
		keepErr = fmt.Errorf("%d of %d locks are still there", held, locks)
	}
	if keepErr != nil {
		return renewalCost{}, fmt.Errorf("keep the locks: %w", keepErr)
	}
	if err := each(locks, func(i int) error { return holds[i].release(ctx) }); err != nil {
		return renewalCost{}, fmt.Errorf("release the locks: %w", err)
	}
	return renewalCost{float64(read-before) / renewalPeriods, float64(calls) / renewalPeriods, took / renewalPeriods}, srv.flush(ctx)
}

// keep renews all holds once in a period, until ctx ends.
func keep(ctx context.Context, holds []hold, period time.Duration) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		if err := each(len(holds), func(i int) error {
			if ctx.Err() != nil {
				return nil
			}
			return holds[i].renew(context.WithoutCancel(ctx))
		}); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// each runs f for 0 to n-1, a few at a time, until one fails.
func each(n int, f func(i int) error) error {
	const workers = 8
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				errs[w] = f(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
