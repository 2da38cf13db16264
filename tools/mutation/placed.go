package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// placements plays a part of all single faults at every moment. It remembers what the
// original shows there. Any goroutine may use it.
type placements struct {
	every int // one placement in so many; 0 for none

	mu       sync.Mutex
	original map[string]map[string]bool // by lock, the violations
}

// play plays the placements of a lock. It calls found for each violation that is the
// lock's own fault.
func (p *placements) play(ctx context.Context, lock string, pool workers.Pool, found func(exhaustive.Cause)) error {
	l, err := locks.Find(lock)
	if err != nil {
		return err
	}
	o := exhaustive.Options{Lock: l, Depth: 1, Faults: draw.Names(), Shard: suite.Shard{Index: 1, Of: p.every}, Runner: pool, Found: found}
	if _, err := o.Play(ctx, func(string) {}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("place faults in %s: %w", lock, err)
	}
	return nil
}

// known are the violations that the original shows with a lock.
func (p *placements) known(ctx context.Context, lock string, original workers.Pool) (map[string]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.original[lock]; all != nil {
		return all, nil
	}
	all := map[string]bool{}
	if err := p.play(ctx, lock, original, func(c exhaustive.Cause) { all[c.Violation()] = true }); err != nil || ctx.Err() != nil {
		return nil, err
	}
	if p.original == nil {
		p.original = map[string]map[string]bool{}
	}
	p.original[lock] = all
	return all, nil
}

// placed places faults in the workloads of a lock, until one shows a violation that
// the original does not show after these faults.
func (p *played) placed(all *placements, lock string) error {
	if all.every == 0 {
		return nil
	}
	known, err := all.known(p.ctx, lock, p.original)
	if known == nil || err != nil {
		return err
	}
	ctx, enough := context.WithCancel(p.ctx)
	defer enough()
	return all.play(ctx, lock, p.mutant, func(c exhaustive.Cause) {
		if p.Status == survived && !known[c.Violation()] {
			p.settle(killed, fmt.Sprintf("%s violated in placement %s with %s", c.Property, c.First, lock))
			enough()
		}
	})
}
