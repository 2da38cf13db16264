package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/selftest/mutation"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

func newMutationCmd() *cobra.Command {
	f := mutation.Options{Source: "."}
	var shard string
	var output outputFlags
	var pool poolFlags
	c := &cobra.Command{
		Use:   "mutation",
		Short: "Change the locks by rule, one place at a time, and show what nothing tells from the original",
		Long: `Plays mutants of the reference lock and of the textbook locks, each with one small
change. It plays the catalogue, then --drawn random scenarios for each lock. A
mutant dies when a verdict is not as expected, a run does not end, or one seed
gives two histories. With --out the same command goes on where it ended, and shards
with one directory come together. Run it in the source of holdfast; it needs the Go
toolchain.

Exit codes: 0 every mutant killed or called equivalent; 1 one survived; 2 bad usage;
4 a defect of holdfast itself; 130 interrupted.`,
		Example: `  holdfast selftest mutation --sample 200 --out mutants
  holdfast selftest mutation --file lock/release.go --operator drop,negate`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if err := cmp.Or(pool.check(), output.check()); err != nil {
				return err
			}
			f.Workers, f.Stall = pool.workers, pool.stall
			if f.Shard, err = parseShard(shard); err != nil {
				return err
			}
			if _, err := contend(c.Context(), f.Locks, nil); err != nil {
				return err
			}
			f.Progress = func(what string, steps int) (step, done func()) {
				bar := terminal.Count(c.ErrOrStderr(), steps, what)
				return bar.Step, bar.Done
			}
			r, err := f.Measure(c.Context())
			var unknown *mutation.UnknownOperatorError
			switch {
			case errors.As(err, &unknown):
				return usage(err.Error(), didYouMean(unknown.Name, mutation.OperatorNames()))
			case errors.Is(err, mutation.ErrNoSource):
				return usage(err.Error(), "install Go, and run the command in a clone of the repository")
			case err != nil && c.Context().Err() != nil:
				return c.Context().Err()
			case err != nil:
				return defect(err)
			}
			if err := output.print(c, r); err != nil {
				return err
			}
			if c.Context().Err() != nil {
				return &exitError{code: exitInterrupted, msg: fmt.Sprintf("interrupted with %d of %d played", r.Played, r.Chosen)}
			}
			if n := r.Survivors(); n > 0 {
				return &exitError{code: exitUnexpected, msg: english.Count(n, "mutant") + " survived"}
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&f.Locks, "lock", nil, "locks to play, by name (default all)")
	c.Flags().StringSliceVar(&f.Files, "file", nil, "files to change, as lock/release.go (default all)")
	c.Flags().StringSliceVar(&f.Operators, "operator", nil, "what to change: "+strings.Join(mutation.OperatorNames(), ", ")+" (default all)")
	c.Flags().IntVar(&f.Sample, "sample", 0, "play so many mutants, drawn by --seed (default all)")
	c.Flags().Uint64Var(&f.Seed, "seed", 1, "the seed of the sample and of every run")
	c.Flags().IntVar(&f.Drawn, "drawn", 10, "random scenarios for each lock")
	c.Flags().IntVar(&f.Placed, "placed", 0, "survivors also play one in so many placements of explore --exhaustive (default none)")
	c.Flags().BoolVar(&f.Tests, "tests", false, "survivors also meet the tests of the locks")
	c.Flags().StringVar(&shard, "shard", "", "part I of N of the mutants, as I/N")
	c.Flags().StringVar(&f.Record, "out", "", "directory that keeps the results")
	output.flags(c, "what to print", "")
	pool.flags(c, time.Minute)
	complete(c, "lock", locks.Locks())
	return c
}
