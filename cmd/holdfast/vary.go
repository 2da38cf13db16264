package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/selftest"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type varyFlags struct {
	locks  []string
	seed   uint64
	seeds  int
	out    string
	format string
	pool   poolFlags
}

func newVaryCmd() *cobra.Command {
	var f varyFlags
	c := &cobra.Command{
		Use:   "vary [SCENARIO ...]",
		Short: "Play variations of scenarios, and look for verdicts that are not as expected",
		Long: `Plays seeded variations of scenarios (default: all) against locks (--lock; default:
all), and compares every verdict with the one that the scenario argues for. It
shows that the judges raise no false alarm and miss nothing when latencies,
clients, hold times, leases and waits are other ones.

A seed is one variation of one scenario, played once with one lock. It chooses the
numbers of the variation and the latency of every message. The seeds take turns
through all pairs of a scenario and a lock.

A verdict that is not as expected is either a false alarm (violated, or worse
than expected), a missed violation, or unknown. With --out the varied scenario
and the history of each such seed are written to a directory.

Exit codes: 0 every verdict as expected; 1 some verdict not; 2 bad usage or bad
input; 3 some verdict unknown; 4 a defect of holdfast itself; 130 interrupted.`,
		Example: `  holdfast selftest vary --seeds 10000
  holdfast selftest vary contention --lock reentrant,fenced --seeds 500
  holdfast selftest vary wait-runs-out --lock set-without-nx --seed 1 --seeds 1 --out found`,
		RunE: func(c *cobra.Command, args []string) error { return runVariations(c, args, f) },
	}
	c.ValidArgs = scenarios.Names()
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "locks to play against, by name (default all but those that break by chance)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the first seed")
	c.Flags().IntVar(&f.seeds, "seeds", 1000, "how many seeds to play, counting up from --seed")
	c.Flags().StringVar(&f.out, "out", "", "new or empty directory for what is not as expected (default: it is only reported)")
	formatFlag(c, &f.format, tableFormats, "what to print: text, json or markdown")
	f.pool.flags(c, time.Minute)
	complete(c, "lock", locks.Names())
	return c
}

func runVariations(c *cobra.Command, args []string, f varyFlags) error {
	if err := cmp.Or(between("--seeds", f.seeds, 1, 100_000_000), seeds(f.seed, f.seeds), f.pool.check()); err != nil {
		return err
	}
	plan, err := suite.NewPlan(c.Context(), suite.Options{Scenarios: args, Locks: f.locks})
	if err != nil {
		return notPlayed(err)
	}
	if f.out != "" {
		if err := disk.Unused(f.out); err != nil {
			return badInput(err, "choose a new or an empty directory with --out")
		}
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return badOut(fmt.Errorf("output directory: %w", err))
		}
	}
	cells := plan.Jobs
	if f.locks == nil { // no argument holds for every variation of a lock that breaks by chance
		cells = slices.DeleteFunc(cells, func(j suite.Job) bool { return locks.MustFind(j.Lock).Habits.Chance })
	}
	v := selftest.Variations{Cells: cells, Seed: f.seed, Seeds: f.seeds, Out: f.out}
	bar := terminal.Count(c.ErrOrStderr(), f.seeds, "playing")
	t, err := v.Play(c.Context(), f.pool.pool(), bar.Step)
	bar.Done()
	if err != nil {
		return defect(err)
	}
	t.Command, t.Skipped = repeat(c, args, "lock", "seed=", "seeds="), len(plan.Skipped)
	switch {
	case f.out == "":
	case len(t.Surprises) == 0:
		fmt.Fprintf(c.ErrOrStderr(), "nothing to keep in %s\n", f.out)
	default:
		fmt.Fprintf(c.ErrOrStderr(), "kept in %s: %d variations and their histories\n", f.out, len(t.Surprises))
	}
	if err := printDocument(c.OutOrStdout(), f.format, t); err != nil {
		return err
	}
	return concludeVary(c, t)
}

// concludeVary returns the error that ends the command, nil for success.
func concludeVary(c *cobra.Command, t *selftest.Tally) error {
	if len(t.Defects) > 0 {
		return ownDefects(c.ErrOrStderr(), t.Defects)
	}
	hint := ""
	if len(t.Surprises) > 0 {
		s := t.Surprises[0]
		hint = fmt.Sprintf("to have a closer look: holdfast selftest vary %s --lock %s --seed %d --seeds 1 --out found", s.File, s.Lock, s.Seed)
	}
	switch {
	case c.Context().Err() != nil:
		return &exitError{code: exitInterrupted, msg: fmt.Sprintf("interrupted after %d of %d seeds", t.Runs, t.Seeds)}
	case t.FalseAlarms+t.Missed > 0:
		return &exitError{code: exitUnexpected, msg: fmt.Sprintf("%s and %s", english.Count(t.FalseAlarms, "false alarm"), english.Count(t.Missed, "missed violation")), hints: []string{hint}}
	case t.Unknown > 0:
		return &exitError{code: exitUnknown, msg: english.Count(t.Unknown, "verdict") + " unknown", hints: []string{hint}}
	}
	return nil
}
