package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is part of every history: scenario, seed and version are enough to
// run again.
const version = "0.1.0"

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "holdfast %s %s\n", version, runtime.Version())
			return err
		},
	}
}
