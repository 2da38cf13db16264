package main

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/suite"
)

func newCompareCmd() *cobra.Command {
	var output outputFlags
	c := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say what differs between two run directories",
		Long: `Compares the runs of two run directories, by scenario, lock, world and seed. It
names the verdicts that changed, the event at which two histories part, and the
change in hand-offs and in the time with two holders. Nothing is played or judged
again. An unexpected violation is a finding, which is new, known or gone. Its
identity is its cause and the request that proves it, whatever the seed.

Exit codes: 0 nothing is worse; 1 a verdict is worse or no longer as expected,
or a run is missing; 2 bad usage or bad input.`,
		Example: `  holdfast run --out before
  git switch my-change && go install ./cmd/holdfast && holdfast run --out after
  holdfast compare before after`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			d, err := pages.Compare(suite.Dir(args[0]), suite.Dir(args[1]))
			if err != nil {
				return badInput(err, "holdfast run writes a run directory, with results.json in it")
			}
			if err := output.print(c, d); err != nil {
				return err
			}
			if d.Regressed() {
				return result(exitUnexpected)
			}
			return nil
		},
	}
	output.flags(c, "what to print", ", with pictures of both sides", "sarif")
	return c
}
