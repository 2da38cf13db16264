package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	numbers "github.com/holdfast-go/holdfast/internal/version"
)

const version = numbers.Holdfast

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "holdfast %s %s\n", version, runtime.Version())
			return err
		},
	}
}
