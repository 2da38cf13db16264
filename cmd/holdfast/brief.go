package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports"
)

func newBriefCmd() *cobra.Command {
	var format, out string
	formats := []string{"html", "svg"}
	c := &cobra.Command{
		Use:   "brief RUNDIR [SCENARIO/LOCK]",
		Short: "Write one page about one run, for a design review",
		Long: `Writes one page that prints on a sheet of A4. It has the claim, the diagram beside
that of a lock that survives, and the story in six lines. The reason, a remedy, the
command and the hash of the history follow. The page needs no other file.

Without SCENARIO/LOCK the page is about the most telling violation, and names the
reason for the choice. With --format svg only the diagram is written.

Exit codes: 0 written; 2 bad usage, bad input, or a history was changed; 3
written, but a history is missing or the run was interrupted.`,
		Example: `  holdfast brief holdfast-runs/20260102-150405 --out brief.html
  holdfast brief holdfast-runs/20260102-150405 failover-lost-write/reentrant --format svg --out cell.svg`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			write := map[string]func(reports.Document, io.Writer, string) error{"html": reports.Document.Brief, "svg": reports.Document.SVG}[format]
			return render(args[0], nil, c.ErrOrStderr(), func(_ suite.Dir, doc reports.Document) (err error) {
				cell := append(args, "")[1]
				if out == "" {
					err = write(doc, c.OutOrStdout(), cell)
				} else {
					err = disk.File(out, func(w io.Writer) error { return write(doc, w, cell) })
				}
				var none *reports.CellError
				switch {
				case errors.As(err, &none):
					return usage(err.Error(), didYouMean(cell, none.Cells), "holdfast report RUNDIR --format text lists what was run")
				case err != nil:
					return badInput(fmt.Errorf("write brief: %w", err))
				}
				return nil
			})
		},
	}
	formatFlag(c, &format, formats, "what to write: html, or svg for the diagram alone")
	c.Flags().StringVar(&out, "out", "", "the file to write (default: stdout)")
	return c
}
