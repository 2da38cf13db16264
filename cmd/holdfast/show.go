package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/search/sweep"
	"github.com/holdfast-go/holdfast/scenarios"
)

func newShowCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "show SCENARIO",
		Short: "Print a built-in scenario, to read or to change",
		Example: `  holdfast show holder-pause
  holdfast show contention > mine.yaml && holdfast run ./mine.yaml`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: append(scenarios.Names(), sweep.Names()...),
		RunE: func(c *cobra.Command, args []string) error {
			source := scenarios.Source
			if slices.Contains(sweep.Names(), args[0]) {
				source = sweep.Source
			}
			src, err := source(args[0])
			if err != nil {
				return notPlayed(err)
			}
			_, err = c.OutOrStdout().Write(src)
			return err
		},
	}
}
