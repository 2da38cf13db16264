package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// pairs has the times of one contender's uncontended acquire and release.
type pairs struct {
	p50, p99, rate []float64 // per round: microseconds, pairs per second
	parallel       []float64 // pairs per second of many owners at once
	counted        commands  // of countedPairs
}

const (
	countedPairs    = 100
	parallelOwners  = 16
	foreignWarmUp   = 10                   // blocks: another runtime may compile what it runs often
	stuck           = 20 * time.Second     // a lock that takes longer is not measured any more
	uncontendedName = "bench:uncontended:" // and the contender: some locks would take others' keys for theirs
)

// uncontended measures one owner that takes and releases a lock which no other owner
// wants. It does so in a closed loop, a block of each contender in turn. Its latency is
// the time of service: who comes while a call is stuck waits longer.
func uncontended(ctx context.Context, srv *server, contenders []opened, rounds, block int) ([]pairs, error) {
	out := make([]pairs, len(contenders))
	for round := -1; round < rounds; round++ { // the first warms up
		for i := range contenders {
			s := &contenders[i]
			if s.why != nil {
				continue
			}
			n := block
			if round < 0 && s.foreign {
				n *= foreignWarmUp
			}
			if err := out[i].round(ctx, *s, n, round >= 0); ctx.Err() != nil {
				return nil, ctx.Err()
			} else if err != nil {
				s.why = err
			}
		}
	}
	for i, s := range contenders {
		if s.why != nil {
			continue
		}
		var err error
		out[i].counted, err = srv.count(ctx, func() error {
			_, err := pairsInTurn(ctx, s, countedPairs)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("count commands of %s: %w", s.name, err)
		}
	}
	return out, nil
}

// round measures one block.
func (p *pairs) round(ctx context.Context, s opened, block int, keep bool) error {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	begin := time.Now()
	took, err := pairsInTurn(ctx, s, block)
	if err != nil {
		return err
	}
	spent := time.Since(begin)
	parallel, err := pairsInParallel(ctx, s, block)
	if err != nil || !keep {
		return err
	}
	slices.Sort(took)
	p.p50 = append(p.p50, quantile(took, 0.5))
	p.p99 = append(p.p99, quantile(took, 0.99))
	p.rate = append(p.rate, float64(block)/spent.Seconds())
	p.parallel = append(p.parallel, parallel)
	return nil
}

// pairsInTurn returns how long each of n pairs took, in microseconds.
func pairsInTurn(ctx context.Context, s opened, n int) ([]float64, error) {
	took := make([]float64, n)
	for k := range took {
		at := time.Now()
		if err := pair(ctx, s, uncontendedName+s.name, "1"); err != nil {
			return nil, err
		}
		took[k] = micros(time.Since(at))
	}
	return took, nil
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

// pairsInParallel returns the throughput of many owners, each with a lock of its
// own.
func pairsInParallel(ctx context.Context, s opened, n int) (perSecond float64, err error) {
	errs := make([]error, parallelOwners)
	begin := time.Now()
	var wg sync.WaitGroup
	for o := range parallelOwners {
		wg.Go(func() {
			name, owner := uncontendedName+s.name+strconv.Itoa(o), strconv.Itoa(o)
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
