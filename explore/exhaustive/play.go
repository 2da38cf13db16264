package exhaustive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/explore/draw"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/suite"
)

// Options say what to place faults in, and how.
type Options struct {
	Lock   string
	Base   string   // its name; empty for all that the lock's claims allow
	Faults []string // the kinds to place, sorted
	Shard  suite.Shard
	Runner suite.Streamer
}

// BaseError says that a lock has no base of some name.
type BaseError struct {
	Base, Lock string
	Known      []string // the bases it has
}

// Error implements error.
func (e *BaseError) Error() string {
	return fmt.Sprintf("%s has no base %q: it has %s", e.Lock, e.Base, english.And(e.Known))
}

// command is how to do it again.
func (o Options) command() string {
	words := []string{"holdfast explore --exhaustive --lock", o.Lock}
	if o.Base != "" {
		words = append(words, "--base", o.Base)
	}
	if len(o.Faults) < len(draw.Names()) {
		words = append(words, "--faults", strings.Join(o.Faults, ","))
	}
	if o.Shard.Of > 1 {
		words = append(words, fmt.Sprintf("--shard %d/%d", o.Shard.Index, o.Shard.Of))
	}
	return strings.Join(words, " ")
}

// placed is a base with what is placed in it.
type placed struct {
	Base
	counts     *BaseCounts
	placements []Placement
}

// run is one placement of all.
type run struct {
	in    *placed
	index int // among the placements of the base
}

func (r run) name() string { return fmt.Sprintf("%s-%d", r.in.Name, r.index+1) }

// Play plays every placement of the shard, and says what they have shown. The
// result does not depend on how many workers play. It calls progress after each
// run with what is under way. The error is a [*BaseError] where there is nothing
// to play.
func (o Options) Play(ctx context.Context, progress func(string)) (Results, error) {
	began := time.Now()
	l, err := subject.FindSubject(o.Lock)
	if err != nil {
		return Results{}, err
	}
	bases := BasesOf(l)
	if o.Base != "" {
		var known []string
		for _, b := range bases {
			known = append(known, b.Name)
		}
		bases = slices.DeleteFunc(bases, func(b Base) bool { return b.Name != o.Base })
		if len(bases) == 0 {
			return Results{}, &BaseError{o.Base, o.Lock, known}
		}
	}
	r := Results{
		Schema: Schema, Version: version.Holdfast, Command: o.command(), Lock: o.Lock, Shard: o.Shard.Index, Of: o.Shard.Of,
		Faults: o.Faults, Bases: make([]BaseCounts, len(bases)), Violated: []Cause{}, Inherent: []Cause{}, Unknown: map[string]int{},
	}
	for _, c := range classes {
		r.Durations = append(r.Durations, c.Name)
	}
	all, err := o.enumerate(ctx, l, bases, &r)
	if err != nil {
		return r, err
	}
	answers := make([]*suite.Answer, len(all))
	done, from := 0, time.Now()
	err = o.Runner.Stream(ctx, len(all), o.jobs(ctx, all), func(a suite.Answer) {
		answers[a.ID] = &a
		done++
		progress(estimate(done, len(all), time.Since(from)))
	})
	for i, a := range answers {
		if a != nil {
			r.take(all[i].in.counts, &all[i], *a, l)
		}
	}
	often(r.Violated)
	often(r.Inherent)
	r.Interrupted = ctx.Err() != nil
	r.WallMS = float64(time.Since(began).Milliseconds())
	return r, err
}

// estimate says how far it is, and how long it still takes.
func estimate(done, of int, spent time.Duration) string {
	left := time.Duration(float64(spent) / float64(done) * float64(of-done))
	return fmt.Sprintf("placing: %d of %s, %.0f/s, about %s left", done, english.Count(of, "run"), float64(done)/spent.Seconds(), english.Span(left))
}

// enumerate plays the bases without a fault, and lists the runs of the shard.
func (o Options) enumerate(ctx context.Context, l *subject.Subject, bases []Base, r *Results) ([]run, error) {
	var jobs []suite.Job
	for _, b := range bases {
		jobs = append(jobs, suite.Job{Scenario: b.Name, Lock: o.Lock, Seed: seed, Kind: baseKind})
	}
	answers, err := suite.Round(ctx, o.Runner, jobs)
	if err != nil {
		return nil, err
	}
	var all []run
	n := 0
	for i, b := range bases {
		r.Bases[i] = BaseCounts{Name: b.Name, Summary: b.Summary, NotPlayed: map[string]int{}}
		in := &placed{Base: b, counts: &r.Bases[i]}
		shown, err := suite.DecodeAs[seen](answers[i].Out)
		if err = errors.Join(err, defectOf(answers[i])); err != nil {
			return nil, fmt.Errorf("play base %s: %w", b.Name, err)
		}
		if shown == nil { // the worker is gone
			r.take(in.counts, nil, answers[i], l)
			continue
		}
		if len(shown.Faulty) > 0 {
			r.Violated = add(r.Violated, causeOf(shown.Faulty[0], nil, b.Name, shown.Source))
		}
		moments := momentsOf(shown.Moments)
		in.placements, in.counts.NotPlayed = place(b, l, o.Faults, moments)
		in.counts.Moments, in.counts.Placements = len(moments), len(in.placements)
		for _, c := range in.counts.NotPlayed {
			in.counts.Placements += c
		}
		for k := range in.placements {
			if n++; n%o.Shard.Of == o.Shard.Index%o.Shard.Of {
				all = append(all, run{in, k})
			}
		}
	}
	return all, nil
}

func defectOf(a suite.Answer) error {
	if a.Defect == "" {
		return nil
	}
	return errors.New(a.Defect)
}

// jobs are the runs as jobs, numbered from 0.
func (o Options) jobs(ctx context.Context, all []run) iter.Seq[suite.Job] {
	return func(yield func(suite.Job) bool) {
		for i, r := range all {
			raw, err := json.Marshal(r.in.placements[r.index])
			if err != nil {
				panic(err) // names and numbers: cannot happen
			}
			job := suite.Job{ID: i, Scenario: r.name(), Lock: o.Lock, Seed: seed, Kind: placedKind, Args: raw}
			if ctx.Err() != nil || !yield(job) {
				return
			}
		}
	}
}

// take takes in what came of a run; at is nil for a base without a fault.
func (r *Results) take(counts *BaseCounts, at *run, a suite.Answer, l *subject.Subject) {
	shown, err := suite.DecodeAs[seen](a.Out)
	if err = errors.Join(err, defectOf(a)); err != nil {
		r.Defects = append(r.Defects, fmt.Sprintf("%s: %v", a.Run.Scenario, err))
		return
	}
	if shown == nil {
		shown = lost(a, at, l)
	}
	counts.Played++
	r.Commands += a.Run.Stats.Commands
	r.VirtualMS += a.Run.Stats.VirtualMS
	if shown.Missed {
		counts.NotStruck++
	}
	var p *Placement
	if at != nil {
		p = &at.in.placements[at.index]
	}
	switch {
	case len(shown.Faulty) > 0:
		counts.Violated++
		r.Violated = add(r.Violated, causeOf(shown.Faulty[0], p, a.Run.Scenario, shown.Source))
	case len(shown.Inherent) > 0:
		counts.Inherent++
		r.Inherent = add(r.Inherent, causeOf(shown.Inherent[0], p, a.Run.Scenario, shown.Source))
	case shown.Unknown != "":
		counts.Unknown++
		r.Unknown[shown.Unknown]++
	}
}

// lost is what a run has shown whose worker process is gone. A mutex that is held
// across a wait for the network stops virtual time, and then nobody knows.
func lost(a suite.Answer, at *run, l *subject.Subject) *seen {
	switch {
	case a.Killed:
		return &seen{Unknown: "the worker process was killed from outside"}
	case strings.Contains(a.Run.Failure, "Mutex.Lock, synctest bubble"):
		return &seen{Unknown: "a mutex is held across a wait for the network, which the simulated world cannot play"}
	}
	out := &seen{Faulty: []violation{{checker.Progress, "never ended", "the run never ended"}}}
	if at != nil {
		s := at.in.with(l, at.name(), at.in.placements[at.index].Fault)
		if source, err := s.YAML(); err == nil {
			out.Source = string(source)
		}
	}
	return out
}
