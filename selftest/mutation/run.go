package mutation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/subject"
)

// Options say what to measure, and how.
type Options struct {
	Choice
	Source  string   // a directory of the module
	Locks   []string // empty for all that are built in
	Drawn   int      // random scenarios for each lock
	Placed  int      // survivors play one in so many placements of a fault; 0 for none
	Record  string   // directory that keeps the results; empty for none
	Workers int
	Stall   time.Duration
	// Progress is called before each stage, with its number of steps. It returns
	// two functions: one to call after each step, one after the last.
	Progress func(what string, steps int) (step, done func())
}

// Measure finds, builds and plays mutants. When ctx ends, the report has the
// finished ones.
func (o Options) Measure(ctx context.Context) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	under, uses, err := o.subjects()
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
	h := hunt{workers: o.Workers, stall: o.Stall, placed: o.Placed}
	if h.exe, err = locks.build(ctx, dir); err != nil {
		return nil, err
	}
	built()
	if h.catalogue, err = catalogueJobs(under, uses, o.Seed); err != nil {
		return nil, err
	}
	if h.drawn, err = drawJobs(under, o.Seed, o.Drawn); err != nil {
		return nil, err
	}
	if o.Record == "" {
		o.Record = dir
	}
	kept, err := openRecord(o.Record, h, o.Shard)
	if err != nil {
		return nil, err
	}
	defer kept.close()
	step, done := o.Progress("playing the original", len(h.catalogue)+len(h.drawn))
	original, err := h.playOriginal(ctx, step)
	if err != nil {
		return nil, err
	}
	done()
	chosen := o.Choose(locks.Mutants)
	missing := kept.missing(chosen)
	step, done = o.Progress("playing the mutants", len(missing))
	err = original.playAll(ctx, missing, func(r *Result) error {
		step()
		return kept.keep(r)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	done()
	r, err := newReport(locks, chosen, kept.results(chosen), original.left)
	if err == nil {
		r.Command, r.drawn = o.command(), o.Sample > 0
	}
	return r, err
}

// UnknownOperatorError means that no operator has the given name.
type UnknownOperatorError struct{ Name string }

// Error implements error.
func (e *UnknownOperatorError) Error() string { return fmt.Sprintf("unknown operator %q", e.Name) }

func (o Options) check() error {
	for _, name := range o.Operators {
		if !slices.Contains(OperatorNames(), name) {
			return &UnknownOperatorError{name}
		}
	}
	return nil
}

// subjects are the locks to play, and the further uses of the reference lock.
func (o Options) subjects() (locks, uses []*subject.Subject, err error) {
	names := o.Locks
	if len(names) == 0 {
		names = slices.Concat(subject.Locks(), subject.Uses())
	}
	for _, name := range names {
		l, err := subject.FindSubject(name)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(subject.Uses(), name) {
			uses = append(uses, l)
		} else {
			locks = append(locks, l)
		}
	}
	return locks, uses, nil
}

// command is the command that repeats the measurement.
func (o Options) command() string {
	words := []string{"holdfast", "selftest", "mutation", "--seed", fmt.Sprint(o.Seed), "--drawn", fmt.Sprint(o.Drawn)}
	if o.Placed > 0 {
		words = append(words, "--placed", fmt.Sprint(o.Placed))
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
