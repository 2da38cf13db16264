package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type shrinkFlags struct {
	lock     string
	scenario string
	seed     uint64
	seeded   bool // seed was given
	property string
	runs     int
	limit    time.Duration
	out      string
	format   string
	pool     poolFlags
}

func newShrinkCmd() *cobra.Command {
	var f shrinkFlags
	c := &cobra.Command{
		Use:   "shrink RUNDIR|SCENARIO",
		Short: "Make a run that shows a violation as small as it can be",
		Long: `Takes a run that shows a violation and leaves out what the violation does not
take: clients, operations, faults; it makes faults shorter and numbers rounder,
plays what it has become, and goes on for as long as the violation stays. Prints
what remains as a story, and a regression test in Go to paste.

RUNDIR comes from holdfast run, vary or explore. The worst violation in it is
taken, unless --lock, --scenario, --seed or --property say which. Or give a
SCENARIO, as a name or a file, with --lock. The result is a scenario file of the
ordinary kind. It expects of every built-in lock the verdicts that the lock showed.

A violation that the next seeds show as well is kept so.

Exit codes: 0 it was shrunk; 2 bad usage or bad input, or nothing to shrink;
3 the process that played a run was killed from outside;
4 a defect of holdfast itself, such as a run that does not give the same twice;
130 interrupted: what was reached is written.`,
		Example: `  holdfast shrink holdfast-runs/20260102-150405
  holdfast shrink found --lock reentrant --property exclusion --out found.yaml
  holdfast shrink ./mine.yaml --lock set-px-lua --seed 7`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.seeded = c.Flags().Changed("seed")
			return runShrink(c, args[0], f)
		},
	}
	c.Flags().StringVar(&f.lock, "lock", "", "the lock of the run")
	c.Flags().StringVar(&f.scenario, "scenario", "", "the scenario of the run, by name")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the seed of the run")
	c.Flags().StringVar(&f.property, "property", "", "the property that must stay violated (default the worst violation)")
	c.Flags().IntVar(&f.runs, "runs", 2000, "how many runs to play at most")
	c.Flags().DurationVar(&f.limit, "time", 10*time.Minute, "how long to go on at most, in real time")
	c.Flags().StringVar(&f.out, "out", "", "the scenario file to write (default RUNDIR/shrunk.yaml)")
	formatFlag(c, &f.format, []string{"text", "json"}, "what to print: text or json")
	f.pool.flags(c, time.Minute)
	complete(c, "lock", playable())
	complete(c, "property", properties())
	return c
}

func properties() []string {
	return english.Words(checker.Properties(), func(p checker.PropertyInfo) string { return string(p.Name) })
}

func (f shrinkFlags) check() error {
	if f.limit < time.Second {
		return usage("--time must be at least 1s")
	}
	if f.out != "" && !suite.IsFile(f.out) {
		return usage(fmt.Sprintf("--out %s would not be taken for a file by holdfast run", f.out), "end it in .yaml")
	}
	if f.property != "" && !slices.Contains(properties(), f.property) {
		return usage(fmt.Sprintf("unknown property %q", f.property), didYouMean(f.property, properties()), "holdfast list properties shows them")
	}
	if _, err := locks.Find(f.lock); f.lock != "" && err != nil {
		return usage(err.Error(), didYouMean(f.lock, playable()), "holdfast list locks and holdfast list mutants show the locks")
	}
	return cmp.Or(between("--runs", f.runs, 10, 1_000_000), f.pool.check())
}

func runShrink(c *cobra.Command, path string, f shrinkFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	pool := f.pool.pool().Keeping()
	defer pool.Stop()
	run, another, err := f.find(c, path, pool)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = "shrunk.yaml"
		if isDir(path) {
			f.out = filepath.Join(path, f.out)
		}
	}
	if err := shrink.CheckOutput(f.out); err != nil {
		return badInput(err, "choose another file with --out, or move this one away")
	}
	bar := terminal.Count(c.ErrOrStderr(), f.runs, "playing")
	ctx, cancel := context.WithTimeout(c.Context(), f.limit)
	defer cancel()
	began := time.Now()
	least, err := run.Shrink(ctx, shrink.Options{Runs: f.runs, Step: bar.Step, Moved: func(_ int, now search.Size) error {
		bar.Now(fmt.Sprintf("%s, %s, %s", english.Count(now.Clients, "client"), english.Count(now.Ops, "operation"), english.Count(now.Faults, "fault")))
		return nil
	}})
	bar.Done()
	if err != nil {
		return notShrunk(run, another, err)
	}
	told, err := run.Report(context.WithoutCancel(ctx), least, shrink.Output{Scenario: f.out})
	if err != nil {
		return notReported(err)
	}
	fmt.Fprintf(c.ErrOrStderr(), "wrote %s; %s in %.1f s\n", f.out, english.Count(least.Stats.Runs, "run"), time.Since(began).Seconds())
	if f.format == "json" {
		err = printJSON(c.OutOrStdout(), told)
	} else {
		err = terminal.Print(c.OutOrStdout(), told.Text)
	}
	if err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	if c.Context().Err() != nil {
		return &exitError{code: exitInterrupted, msg: "interrupted; it might be made smaller still"}
	}
	return nil
}

// find finds the run to shrink. It says whether another version of Holdfast
// stored that run.
func (f shrinkFlags) find(c *cobra.Command, path string, pool workers.Pool) (run *shrink.Run, another bool, err error) {
	var all []shrink.Shown
	if isDir(path) {
		var stored string
		if all, stored, err = shrink.ReadRuns(path); err != nil {
			return nil, false, badInput(err)
		}
		if another = stored != "" && stored != version; another {
			fmt.Fprintf(c.ErrOrStderr(), "warning: stored by version %s, this is %s: histories may differ\n", stored, version)
		}
	} else if all, err = f.playNow(c.Context(), path, pool); err != nil {
		return nil, false, err
	}
	which := shrink.Filter{Lock: f.lock, Scenario: f.scenario, Property: f.property}
	if f.seeded {
		which.Seed = &f.seed
	}
	worst, target, err := which.Choose(all)
	if err != nil {
		return nil, false, badInput(err)
	}
	list, err := pick([]string{worst.File})
	if err != nil {
		return nil, false, err
	}
	return &shrink.Run{Scenario: list[0].Scenario, Source: list[0].Text, Lock: worst.Run.Lock, Seed: worst.Run.Seed, Target: target, Runner: pool}, another, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// playNow plays a scenario that the user gave instead of a directory.
func (f shrinkFlags) playNow(ctx context.Context, path string, pool workers.Pool) ([]shrink.Shown, error) {
	if f.lock == "" {
		return nil, usage("a scenario is shrunk with one lock: give --lock", "or give a run directory")
	}
	list, err := pick([]string{path})
	if err != nil {
		return nil, err
	}
	s := list[0]
	l, err := locks.Find(f.lock)
	if err != nil {
		return nil, usage(err.Error())
	}
	if ok, reason := s.Scenario.Applies(l); !ok {
		return nil, usage(fmt.Sprintf("%s does not apply to %s: %s", s.Scenario.Name, f.lock, reason))
	}
	answers, err := suite.Round(ctx, pool, []suite.Job{{Scenario: s.Scenario.Name, File: path, Source: string(s.Text), Lock: f.lock, Seed: f.seed, Judge: true}})
	switch {
	case err != nil:
		return nil, err
	case answers[0].Killed:
		return nil, wasKilled(&suite.KilledError{What: answers[0].Run.Failure})
	case answers[0].Defect != "":
		return nil, defect(errors.New(answers[0].Defect))
	}
	return []shrink.Shown{{Run: answers[0].Run, File: path}}, nil
}

// notShrunk is the error of a search without a result.
func notShrunk(r *shrink.Run, another bool, err error) error {
	what := fmt.Sprintf("%s with %s, seed %d", r.Scenario.Name, r.Lock, r.Seed)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return usage("the time was over before anything could be shrunk", "give it more with --time")
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, shrink.ErrNotViolated) && another:
		return badInput(fmt.Errorf("%s does not violate %s any more", what, r.Target), "it was stored by another version of holdfast")
	case errors.Is(err, shrink.ErrNotViolated):
		return defect(fmt.Errorf("%s violated %s, and played again it does not", what, r.Target), "holdfast replay RUNDIR compares the histories")
	case errors.As(err, new(*shrink.FlakyError)):
		return defect(fmt.Errorf("%s: %w", what, err), "please report it, with the command and the version")
	}
	return defect(err)
}

// notReported is the error of a result that Holdfast could not write or describe.
func notReported(err error) error {
	var killed *suite.KilledError
	switch {
	case errors.As(err, &killed):
		return wasKilled(killed)
	case errors.As(err, new(*shrink.OutputError)):
		return badInput(err, "choose another file with --out")
	}
	return defect(err)
}
