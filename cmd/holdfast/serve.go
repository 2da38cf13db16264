package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/playground"
)

func newServeCmd() *cobra.Command {
	var port int
	c := &cobra.Command{
		Use:   "serve",
		Short: "Open the playground: turn the parameters of a scenario in a browser",
		Long: `Serves a page on this machine alone. Choose a scenario and a lock there, and move
sliders. The page shows the diagram, the story and the verdicts, and the command
that gives the same history here.

Ctrl-C ends it. Exit codes: 0 ended; 2 bad usage, or the port is taken.`,
		Example: `  holdfast serve
  holdfast serve --port 0`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := playground.Listen(port)
			if err != nil {
				return badInput(err, "--port 0 takes any port that is free")
			}
			fmt.Fprintf(c.OutOrStdout(), "playground: http://%s/\n", l.Addr())
			pool := poolFlags{workers: runtime.NumCPU(), stall: playground.RunTime}.pool().Keeping()
			defer pool.Stop()
			return playground.Serve(c.Context(), l, pool, pool.Workers)
		},
	}
	c.Flags().IntVar(&port, "port", 7070, "port of the loopback interface to listen on; 0 is any that is free")
	return c
}
