package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

var listable = []string{"scenarios", "locks", "mutants", "faults", "properties"}

func newListCmd() *cobra.Command {
	return &cobra.Command{
		Use:       "list scenarios|locks|mutants|faults|properties",
		Short:     "List what there is",
		ValidArgs: listable,
		Example: `  holdfast list scenarios
  holdfast list locks`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("list takes one word", "one of "+strings.Join(listable, ", "))
			}
			if !slices.Contains(listable, args[0]) {
				return usage(fmt.Sprintf("cannot list %q", args[0]), didYouMean(args[0], listable), "one of "+strings.Join(listable, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			switch args[0] {
			case "scenarios":
				for _, s := range scenarios.Catalogue() {
					fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
				}
			case "locks":
				for _, l := range subject.Locks() {
					sub, err := subject.FindSubject(l)
					if err != nil {
						return defect(err)
					}
					fmt.Fprintf(w, "%s\t%s\n", l, sub.Summary())
				}
			case "mutants":
				fmt.Fprintln(w, "mutant\tof\tclass\tmistake\tshipped by")
				for _, m := range subject.Mutants() {
					fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", m.Name, m.Of, m.Class, m.Mistake, m.Shipped)
				}
			case "faults":
				for _, k := range faults.Vocabulary() {
					fmt.Fprintf(w, "%s\t%s\t%s\n", k.Name, k.Target, k.Summary)
				}
			case "properties":
				for _, p := range checker.Properties() {
					fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Promise)
				}
			}
			return w.Flush()
		},
	}
}
