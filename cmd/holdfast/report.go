package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/reports"
)

// render lets write show the content of a run directory, under another list of
// accepted violations unless that is nil. It returns an error if the content is
// incomplete, or if somebody has changed it since the run.
func render(path string, list *suite.Accepted, stderr io.Writer, write func(suite.Dir, reports.Document) error) error {
	defer suite.CollectRarely(64 << 20)()
	dir := suite.Dir(path)
	res, err := dir.ReadResults()
	if err != nil {
		return badInput(err, "holdfast run writes a run directory, with results.json in it")
	}
	if list != nil {
		list.Apply(&res)
	}
	edited := dir.Edited(res)
	doc := report.DocumentOf(dir, res, edited...)
	if err := write(dir, doc); err != nil {
		return err
	}
	warnMissing(stderr, dir, doc.Missing)
	switch n := len(doc.Missing); {
	case len(edited) > 0:
		return editedError(dir, edited)
	case doc.Results.Interrupted:
		return &exitError{code: exitUnknown, msg: dir.File(runResults) + ": " + doc.Results.InterruptedWords(), hints: []string{"to play all of it: " + doc.Results.Command}}
	case n > 0:
		return missingHistories(n)
	case list != nil:
		return underList(doc.Results)
	}
	return nil
}

func newReportCmd() *cobra.Command {
	var format, accepted string
	formats := []string{"html", "text", "json", "junit", "sarif", "markdown"}
	c := &cobra.Command{
		Use:   "report RUNDIR",
		Short: "Render the results of a run directory again",
		Long: `Renders what a run directory holds: as HTML into RUNDIR/report.html, or in
another format to stdout. Nothing is played or judged again. A history that was
changed since the run is left out.

With --accept it shows the results under another list of accepted violations, and
its exit code is that of holdfast run with this list. So a long run need not be
played again after a change of its list. The list must be about these runs alone.

Exit codes: 0 rendered; 1 with --accept, some verdict is not accepted; 2 bad usage,
bad input, or a history was changed; 3 rendered, but a history is missing, the run
was interrupted or, with --accept, some verdict is unknown; 4 a defect of holdfast
itself.`,
		Example: `  holdfast report holdfast-runs/20260102-150405
  holdfast report holdfast-runs/20260102-150405 --format markdown
  holdfast report holdfast-runs/20260102-150405 --accept accepted.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var list *suite.Accepted
			if accepted != "" {
				l, err := readAccepted(accepted)
				if err != nil {
					return err
				}
				list = &l
			}
			return render(args[0], list, c.ErrOrStderr(), func(dir suite.Dir, doc reports.Document) error {
				if format != "html" {
					return show(c.OutOrStdout(), doc, format)
				}
				if err := report.WriteReport(dir, doc); err != nil {
					return badInput(fmt.Errorf("write report: %w", err))
				}
				_, err := fmt.Fprintln(c.OutOrStdout(), dir.File("report.html"))
				return err
			})
		},
	}
	formatFlag(c, &format, formats, "html, text, json, junit, sarif or markdown")
	c.Flags().StringVar(&accepted, "accept", "", "a YAML file of accepted violations, instead of the list of the run")
	return c
}

func warnMissing(stderr io.Writer, d suite.Dir, paths []string) {
	for _, path := range paths {
		fmt.Fprintf(stderr, "missing: %s\n", d.File(path))
	}
}

func missingHistories(n int) error {
	return &exitError{code: exitUnknown, msg: "missing histories: " + fmt.Sprint(n), hints: []string{"the verdicts are those of the run; holdfast replay plays the runs of virtual time again"}}
}

// editedError says so.
func editedError(d suite.Dir, paths []string) error {
	what := fmt.Sprintf("%s and %d more histories", paths[0], len(paths)-1)
	if len(paths) == 1 {
		what = paths[0]
	}
	return badInput(fmt.Errorf("%s: %s changed since the run: the hash is not the one in results.json", d, what),
		"the verdicts are about the histories as they were; holdfast check judges one as it is now")
}
