package play_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// fiveTimesTen is the workload that speed is measured with: five clients that
// each take the reference lock ten times.
const fiveTimesTen = `
scenario: bench
title: Five clients, ten holds each
story: The workload that speed is measured with.
topology: {clients: 5}
workload: {holds: 10, lease: 10s, wait: 60s, think: 2s, rest: 500ms}
otherwise: Nothing goes wrong.
`

// BenchmarkSpeed compares the simulator with miniredis in one run. It measures the script
// calls per second of a recorded contention run, and of bare miniredis under the same
// lock with go-redis over net.Pipe.
func BenchmarkSpeed(b *testing.B) {
	s, err := scenarios.Parse("bench.yaml", []byte(fiveTimesTen))
	must.Succeed(b, err)
	b.Run("sim", func(b *testing.B) {
		scripts, commands, virtual := 0, 0, time.Duration(0)
		seed := uint64(0)
		for b.Loop() {
			seed++
			p, err := play.Simulate(s, locks.MustFind("reentrant"), seed, "bench")
			must.Succeed(b, err)
			scripts += p.Scripts
			commands += p.Commands
			virtual += p.Took
		}
		wall := b.Elapsed().Seconds()
		b.ReportMetric(float64(scripts)/wall, "scripts/s")
		b.ReportMetric(float64(commands)/wall, "commands/s")
		b.ReportMetric(virtual.Seconds()/wall, "virtual-s/s")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("explored", func(b *testing.B) {
		l := locks.MustFind("reentrant")
		v, err := draw.NewVocabulary(nil, nil, false)
		must.Succeed(b, err)
		scripts, runs, virtual := 0, 0, time.Duration(0)
		for b.Loop() {
			for range 10 {
				runs++
				s, err := draw.Scenario(l, uint64(runs), v, nil)
				must.Succeed(b, err)
				p, err := play.Simulate(s, l, uint64(runs), "bench")
				must.Succeed(b, err)
				judged, err := checker.Judge(p.Judged(), checker.Options{})
				must.Succeed(b, err)
				explore.Observe(s, p.History, judged.Verdicts)
				scripts += p.Scripts
				virtual += p.Took
			}
		}
		wall := b.Elapsed().Seconds()
		b.ReportMetric(float64(scripts)/wall, "scripts/s")
		b.ReportMetric(float64(runs)/wall, "runs/s")
		b.ReportMetric(virtual.Seconds()/wall, "virtual-s/s")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("bare-miniredis", func(b *testing.B) {
		m := miniredis.NewMiniRedis()
		defer m.Close()
		scripts := 0
		ctx := context.Background()
		lockers := bareLockers(b, m, 5)
		for b.Loop() {
			var all sync.WaitGroup
			for _, l := range lockers {
				all.Go(func() {
					for range 10 {
						if _, err := l.TryLock(ctx); err != nil {
							b.Error(err)
						}
						if _, err := l.Unlock(ctx); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			scripts += 2 * 10 * len(lockers)
		}
		b.ReportMetric(float64(scripts)/b.Elapsed().Seconds(), "scripts/s")
		b.ReportMetric(0, "ns/op")
	})
}

// bareLockers are n owners, each on a client and a lock of its own.
func bareLockers(b *testing.B, m *miniredis.Miniredis, n int) []*lock.Reentrant {
	var all []*lock.Reentrant
	for i := range n {
		rdb := redis.NewClient(&redis.Options{
			Addr:                     "127.0.0.1:1",
			Dialer:                   func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
			DisableIdentity:          true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		c, err := lock.New(rdb)
		must.Succeed(b, err)
		b.Cleanup(func() { c.Close(); rdb.Close() })
		all = append(all, c.NewLock(fmt.Sprint("lock-", i), "bench"))
	}
	return all
}
