package simplay_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
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
// direction each.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{2, 20, 200} {
		b.Run(fmt.Sprintf("clients=%d", n), func(b *testing.B) { grow(b, n, 400/n) })
	}
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("holds=%d", n), func(b *testing.B) { grow(b, 2, n) })
	}
}

func grow(b *testing.B, clients, holds int) {
	s, err := scenarios.Parse("growth.yaml", fmt.Appendf(nil, growing, clients, holds))
	if err != nil {
		b.Fatal(err)
	}
	commands, seed := 0, uint64(0)
	for b.Loop() {
		seed++
		p, err := simplay.Play(s, subject.MustFind("reentrant"), seed, "bench")
		if err != nil {
			b.Fatal(err)
		}
		commands += p.Commands
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(commands), "us/command")
	b.ReportMetric(0, "ns/op")
}
