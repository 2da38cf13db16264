package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

func newReportCmd() *cobra.Command {
	var format string
	formats := []string{"html", "text", "json", "junit", "markdown"}
	c := &cobra.Command{
		Use:   "report RUNDIR",
		Short: "Render the results of a run directory again",
		Long: `Renders what a run directory holds: as HTML into RUNDIR/report.html, or in
another format to stdout. Nothing is played or judged again.`,
		Example: `  holdfast report holdfast-runs/20260102-150405
  holdfast report holdfast-runs/20260102-150405 --format markdown`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return usage(fmt.Sprintf("unknown format %q", format), didYouMean(format, formats))
			}
			dir := runDir(args[0])
			res, err := dir.readResults()
			if err != nil {
				return badInput(err, "a run directory is what holdfast run writes; it holds results.json")
			}
			doc := dir.document(res)
			if format != "html" {
				return show(c.OutOrStdout(), doc, format)
			}
			if err := dir.writeReport(doc); err != nil {
				return badInput(fmt.Errorf("write report: %w", err))
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), dir.file("report.html"))
			return err
		},
	}
	c.Flags().StringVar(&format, "format", "html", "html, text, json, junit or markdown")
	return c
}
