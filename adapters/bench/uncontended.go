package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// pairs is what one subject's uncontended acquire and release took.
type pairs struct {
	p50, p99, rate []float64 // per round: microseconds, pairs per second
	parallel       []float64 // pairs per second of many owners at once
	counted        commands  // of countedPairs
}

const (
	countedPairs    = 100
	parallelOwners  = 16
	uncontendedName = "bench:uncontended"
)

// uncontended measures one owner that takes and gives back a lock which nobody
// else wants, in a closed loop, a block of each subject in turn. Its latency
// is the time of service: who comes while a call is stuck waits longer.
func uncontended(ctx context.Context, srv *server, subjects []opened, rounds, block int) ([]pairs, error) {
	out := make([]pairs, len(subjects))
	for round := -1; round < rounds; round++ { // the first warms up
		for i, s := range subjects {
			if s.why != nil {
				continue
			}
			took := make([]float64, block)
			begin := time.Now()
			for k := range took {
				at := time.Now()
				if err := pair(ctx, s, uncontendedName, "1"); err != nil {
					return nil, err
				}
				took[k] = micros(time.Since(at))
			}
			spent := time.Since(begin)
			rate, err := parallelPairs(ctx, s, block)
			if err != nil {
				return nil, err
			}
			if round < 0 {
				continue
			}
			slices.Sort(took)
			out[i].p50 = append(out[i].p50, quantile(took, 0.5))
			out[i].p99 = append(out[i].p99, quantile(took, 0.99))
			out[i].rate = append(out[i].rate, float64(block)/spent.Seconds())
			out[i].parallel = append(out[i].parallel, rate)
		}
	}
	for i, s := range subjects {
		if s.why != nil {
			continue
		}
		var err error
		out[i].counted, err = srv.count(ctx, func() error {
			for range countedPairs {
				if err := pair(ctx, s, uncontendedName, "1"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("count commands of %s: %w", s.name, err)
		}
	}
	return out, nil
}

func pair(ctx context.Context, s opened, name, owner string) error {
	h, err := s.acquire(ctx, name, owner)
	if err != nil {
		return fmt.Errorf("acquire %s: %w", s.name, err)
	}
	if err := h.release(ctx); err != nil {
		return fmt.Errorf("release %s: %w", s.name, err)
	}
	return nil
}

// parallelPairs returns the throughput of many owners, each with a lock of its
// own.
func parallelPairs(ctx context.Context, s opened, n int) (perSecond float64, err error) {
	errs := make([]error, parallelOwners)
	begin := time.Now()
	var wg sync.WaitGroup
	for o := range parallelOwners {
		wg.Go(func() {
			name, owner := uncontendedName+strconv.Itoa(o), strconv.Itoa(o)
			for range n / parallelOwners {
				if errs[o] = pair(ctx, s, name, owner); errs[o] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	spent := time.Since(begin)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(n/parallelOwners*parallelOwners) / spent.Seconds(), nil
}
