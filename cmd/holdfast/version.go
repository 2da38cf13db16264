package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	numbers "github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports/results"
)

const version = numbers.Holdfast

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Long: "Print the version that histories carry, then the build: the module's version or revision,\nwhere the Go toolchain recorded one, and the Go version.",
		RunE: func(c *cobra.Command, _ []string) error {
			build := ""
			if b := numbers.Build(); b != "" {
				build = " (" + b + ")"
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "holdfast %s%s %s\n", version, build, runtime.Version())
			return err
		},
	}
}

// madeNow is the provenance of results that a command produces now.
func madeNow() *results.Made {
	return &results.Made{
		Date: time.Now().UTC().Format(time.RFC3339), Build: numbers.Build(), Go: runtime.Version(),
		Host: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
}
