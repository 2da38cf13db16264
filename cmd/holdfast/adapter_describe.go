package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
)

func newAdapterDescribeCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "describe -- CMD [ARG ...]",
		Short:   "Print what a worker process says of its locks, as JSON",
		Example: `  holdfast adapter describe -- adapters/python/holdfast-redis-py`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("adapter describe needs a command", "holdfast adapter describe -- CMD [ARG ...]")
			}
			return nil
		}),
		RunE: func(c *cobra.Command, args []string) error {
			locks, err := adapterLocks(c.Context(), []string{strings.Join(args, " ")})
			if err != nil {
				return err
			}
			out := json.NewEncoder(c.OutOrStdout())
			out.SetIndent("", "  ")
			for _, l := range locks {
				d, _ := l.subject.Description()
				if err := out.Encode(d); err != nil {
					return defect(err)
				}
			}
			return nil
		},
	}
}
