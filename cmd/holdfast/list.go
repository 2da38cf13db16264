package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/terminal"
)

func newListCmd() *cobra.Command {
	return &cobra.Command{
		Use:       "list scenarios|locks|mutants|faults|properties",
		Short:     "List what there is",
		ValidArgs: pages.Kinds(),
		Example: `  holdfast list scenarios
  holdfast list locks`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("list takes one word", "one of "+strings.Join(pages.Kinds(), ", "))
			}
			if !slices.Contains(pages.Kinds(), args[0]) {
				return usage(fmt.Sprintf("cannot list %q", args[0]), didYouMean(args[0], pages.Kinds()), "one of "+strings.Join(pages.Kinds(), ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return terminal.Print(c.OutOrStdout(), func(w io.Writer) error { return pages.List(w, args[0]) })
		},
	}
}

func newExplainCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "explain LOCK|PROPERTY|SCENARIO|FAULT",
		Short: "Say on one screen what a name stands for",
		Example: `  holdfast explain reentrant
  holdfast explain failover-lost-write`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: pages.Names(),
		RunE: func(c *cobra.Command, args []string) error {
			if err := pages.Explain(c.OutOrStdout(), args[0]); err != nil {
				return usage(err.Error(), didYouMean(args[0], pages.Names()), "holdfast list "+strings.Join(pages.Kinds(), ", ")+" show the names")
			}
			return nil
		},
	}
}
