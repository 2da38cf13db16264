package main

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/rundir"
	"github.com/holdfast-go/holdfast/scenarios"
)

// playDrawn draws, plays and judges one run of an exploration.
func playDrawn(j job, a answer, still *standstill) answer {
	began := time.Now()
	fail := func(err error) answer {
		a.Defect = err.Error()
		return a
	}
	l, err := scenarios.FindSubject(j.Lock)
	if err != nil {
		return fail(err)
	}
	s, src, err := explore.Draw(l, j.Seed, j.Explore.Vocabulary, j.Explore.Holes)
	if err != nil {
		return fail(err)
	}
	a.Run.Scenario, a.Drawn = s.Name, &explore.Seen{Source: string(src)}
	var p *scenarios.Played
	still.play(func() { p, err = scenarios.Play(s, l, j.Seed, version) })
	if err != nil {
		return fail(err)
	}
	rundir.Record(&a.Run, p)
	if err := rundir.Judge(&a.Run, s, l, explore.Judged(p)); err != nil {
		return fail(fmt.Errorf("%s: %w", s.Name, err))
	}
	seen := explore.Observe(s, p.History, a.Run.Verdicts)
	if seen.Cause != nil {
		seen.Source, seen.HistorySHA256 = string(src), a.Run.HistorySHA256
	}
	a.Drawn = &seen
	a.Run.Verdicts, a.Run.Expected, a.Run.ExpectedClass, a.Run.Because = nil, nil, nil, nil // seen has it all
	a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	return a
}
