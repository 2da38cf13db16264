package main

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
)

func newWorkerCmd() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Play runs for another holdfast (internal)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := workers.ServeJobs(c.InOrStdin(), c.OutOrStdout()); err != nil {
				return defect(err)
			}
			return nil
		},
	}
}

func newClientCmd() *cobra.Command {
	return &cobra.Command{
		Use: "client", Short: "Be a client process of a run on real servers (internal)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return adapter.ServeBuiltIn(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
}
