package play_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
	"github.com/holdfast-go/holdfast/sim"
)

// growing is a run of so many clients and holds.
const growing = `
scenario: growth
title: A larger run
story: A command must cost the same in a large run as in a small one.
topology: {clients: %d}
workload: {holds: %d, lease: 10s, wait: 24h, think: 200ms, rest: 500ms}
otherwise: Nothing goes wrong.
`

// BenchmarkGrowth measures the cost of a command while runs grow in one
// direction each. The largest must not cost more than 1.5 times the smallest.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{2, 20, 200} {
		b.Run(fmt.Sprintf("clients/%d", n), func(b *testing.B) {
			measure(b, func(seed uint64) (int, error) { return grow(n, 400/n, seed) })
		})
	}
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("holds/%d", n), func(b *testing.B) {
			measure(b, func(seed uint64) (int, error) { return grow(2, n, seed) })
		})
	}
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("locks/%d", n), func(b *testing.B) {
			measure(b, func(seed uint64) (int, error) { return growLocks(n, seed) })
		})
	}
}

// measure reports what a command of so many plays costs. A play returns how many
// commands it had.
func measure(b *testing.B, play func(seed uint64) (commands int, err error)) {
	commands, seed := 0, uint64(0)
	for b.Loop() {
		seed++
		n, err := play(seed)
		must.Succeed(b, err)
		commands += n
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(commands), "us/command")
	b.ReportMetric(0, "ns/op")
}

func grow(clients, holds int, seed uint64) (commands int, err error) {
	s, err := scenarios.Parse("growth.yaml", fmt.Appendf(nil, growing, clients, holds))
	if err != nil {
		return 0, err
	}
	p, err := play.Simulate(s, locks.MustFind("reentrant"), seed, "bench")
	if err != nil {
		return 0, err
	}
	return p.Commands, nil
}

// growLocks has a client hold so many locks at a time, 500 times in all.
func growLocks(locks int, seed uint64) (commands int, err error) {
	bubble := sim.Bubble(func() {
		w := sim.New(sim.Options{
			Seed: seed, Clients: 1, Groups: 1, LatencyMin: 100 * time.Microsecond, LatencyMax: time.Millisecond,
			LockKey: func(string) bool { return true },
		})
		defer w.Close()
		rdb := w.Client(w.Process("client-1"), 1)
		defer rdb.Close()
		var c *lock.Client
		if c, err = lock.New(rdb); err != nil {
			return
		}
		defer c.Close()
		ctx := context.Background()
		for range 500 / locks {
			var held []*lock.Reentrant
			for i := range locks {
				l := c.NewLock(fmt.Sprint("lock-", i), "bench")
				if _, err = l.TryLock(ctx); err != nil {
					return
				}
				held = append(held, l)
			}
			for _, l := range held {
				if _, err = l.Unlock(ctx); err != nil {
					return
				}
			}
		}
		commands, _ = w.Served()
	})
	if err == nil {
		err = bubble
	}
	return commands, err
}
