package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/scenarios/locks"
	"github.com/holdfast-go/holdfast/tools/mutation/uses"
)

// options say what to measure, and how.
type options struct {
	choice
	Source  string   // a directory of the module
	Locks   []string // empty for all that are built in
	Crossed int      // workloads of the covering array for each lock; a part on several servers
	Drawn   int      // random scenarios for each lock
	Placed  int      // survivors play one in so many placements of a fault; 0 for none
	Tests   bool     // what no run kills meets the tests of the locks
	NoRuns  bool     // all meet the tests, and no run
	Record  string   // directory that keeps the results; empty for none
	Workers int
	Stall   time.Duration
	// Progress is called before each stage, with its number of steps. It returns
	// two functions: one to call after each step, one after the last.
	Progress func(what string, steps int) (step, done func())
}

// measure finds, builds and plays mutants. When ctx ends, the report has the
// finished ones.
func (o options) measure(ctx context.Context) (*report, error) {
	under, further, err := o.pickLocks()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdfast-mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	_, built := o.Progress("building the mutants", 1)
	locks, err := loadSource(ctx, o.Source)
	if err != nil {
		return nil, err
	}
	overlay, err := locks.overlay(dir)
	if err != nil {
		return nil, err
	}
	h := hunt{workers: o.Workers, stall: o.Stall, placed: o.Placed}
	if h.exe, err = locks.build(ctx, overlay, dir); err != nil {
		return nil, err
	}
	own := &ownTests{workers: o.Workers}
	if o.Tests {
		if own.programs, err = locks.buildTests(ctx, overlay, dir); err != nil {
			return nil, err
		}
	}
	built()
	if !o.NoRuns {
		if h.catalogue, err = catalogueJobs(under, further, o.Seed); err != nil {
			return nil, err
		}
		if h.drawn, err = drawJobs(under, o.Seed, o.Crossed, o.Drawn); err != nil {
			return nil, err
		}
	}
	o.Record = cmp.Or(o.Record, dir)
	chosen := o.choose(locks.Mutants)
	results, left, err := o.play(ctx, h, chosen)
	if err != nil {
		return nil, err
	}
	if o.Tests && ctx.Err() == nil {
		if err := o.test(ctx, own, results, dir); err != nil {
			return nil, err
		}
	}
	for _, name := range own.left {
		left = append(left, "the test "+name)
	}
	r, err := newReport(locks, chosen, results, left)
	if err == nil {
		r.Command, r.Tests = o.command(), o.Tests
	}
	return r, err
}

// play plays the mutants that the record lacks. It returns all results, and the runs that
// are not as expected with the original.
func (o options) play(ctx context.Context, h hunt, chosen []*Mutant) (results []*result, left []string, err error) {
	id, err := h.identity()
	if err != nil {
		return nil, nil, err
	}
	kept, err := openRecord(o.Record, "mutants", id, o.Shard)
	if err != nil {
		return nil, nil, err
	}
	defer kept.close()
	step, done := o.Progress("playing the original", len(h.catalogue)+len(h.drawn))
	original, err := h.playOriginal(ctx, step)
	if err != nil {
		return nil, nil, err
	}
	done()
	missing := kept.missing(chosen)
	step, done = o.Progress("playing the mutants", len(missing))
	err = original.playAll(ctx, missing, func(r *result) error {
		step()
		return kept.keep(r)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	done()
	return kept.results(chosen), original.left, nil
}

// test runs the tests of the locks with the mutants that no run has killed, and notes in
// their results which test fails.
func (o options) test(ctx context.Context, own *ownTests, results []*result, scratch string) error {
	id, err := own.identity()
	if err != nil {
		return err
	}
	kept, err := openRecord(o.Record, "tests", id, o.Shard)
	if err != nil {
		return err
	}
	defer kept.close()
	var alive []*Mutant
	for _, r := range results {
		if r.Status != killed {
			alive = append(alive, r.Mutant)
		}
	}
	if missing := kept.missing(alive); len(missing) > 0 {
		step, done := o.Progress("testing the original", len(own.programs))
		if err := own.playOriginal(ctx, scratch, step); err != nil {
			return err
		}
		done()
		step, done = o.Progress("testing the mutants", len(missing))
		err := own.runAll(ctx, missing, func(m *Mutant, by string) error {
			step()
			return kept.keep(&result{Mutant: m, Test: by})
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		done()
	}
	for _, r := range results {
		if one := kept.done[r.ID]; one != nil && r.Status != killed {
			r.Test = one.Test
		}
	}
	return nil
}

// check refuses names of operators and locks that do not exist.
func (o options) check() error {
	for _, name := range o.Operators {
		if !slices.Contains(operatorNames(), name) {
			return fmt.Errorf("--operator: unknown operator %q%s", name, didYouMean(name, operatorNames()))
		}
	}
	for _, name := range o.Locks {
		if _, err := locks.Find(name); err != nil {
			return fmt.Errorf("--lock: %w%s", err, didYouMean(name, slices.Concat(locks.Names(), uses.Names())))
		}
	}
	return nil
}

// pickLocks returns the locks to play, and the further uses of the reference lock.
func (o options) pickLocks() (chosen, further []*locks.Lock, err error) {
	names := o.Locks
	if len(names) == 0 {
		names = slices.Concat(locks.Names(), uses.Names())
	}
	for _, name := range names {
		l, err := locks.Find(name)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(uses.Names(), name) {
			further = append(further, l)
		} else {
			chosen = append(chosen, l)
		}
	}
	return chosen, further, nil
}

// command is the command that repeats the measurement.
func (o options) command() string {
	words := []string{"go", "run", "./mutation", "--seed", fmt.Sprint(o.Seed), "--crossed", fmt.Sprint(o.Crossed), "--drawn", fmt.Sprint(o.Drawn)}
	if o.Placed > 0 {
		words = append(words, "--placed", fmt.Sprint(o.Placed))
	}
	if o.NoRuns {
		words = append(words, "--no-runs")
	} else if o.Tests {
		words = append(words, "--tests")
	}
	if len(o.Files) > 0 {
		words = append(words, "--file", strings.Join(o.Files, ","))
	}
	if len(o.Operators) > 0 {
		words = append(words, "--operator", strings.Join(o.Operators, ","))
	}
	if len(o.Locks) > 0 {
		words = append(words, "--lock", strings.Join(o.Locks, ","))
	}
	if o.Sample > 0 {
		words = append(words, "--sample", fmt.Sprint(o.Sample))
	}
	if o.Shard.Of > 1 {
		words = append(words, "--shard", fmt.Sprintf("%d/%d", o.Shard.Index, o.Shard.Of))
	}
	return strings.Join(words, " ")
}
