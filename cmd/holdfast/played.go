package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// played is the result of playing scenarios against locks.
type played struct {
	results results.Results
	doc     reports.Document
	dir     suite.Dir
	err     error // besides the verdicts
}

func playRuns(ctx context.Context, o suite.Options) (*played, error) {
	p := &played{}
	o.Report = func(dir suite.Dir, res results.Results) error {
		p.dir, p.doc = dir, report.DocumentOf(dir, res)
		return report.WriteReport(dir, p.doc)
	}
	if p.results, p.err = suite.Run(ctx, o); p.dir == "" {
		return nil, notPlayed(p.err)
	}
	return p, nil
}

// conclude prints the result, and returns the exit code as an error.
func (p *played) conclude(c *cobra.Command, f runFlags) error {
	if err := show(c.OutOrStdout(), p.doc, f.format); err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	stderr := c.ErrOrStderr()
	if err := f.outputs.GitHub(os.Getenv, stderr).Publish(p.doc); err != nil {
		return badInput(err, "the run directory is complete: "+string(p.dir))
	}
	if _, lost := errors.AsType[*suite.StoreError](p.err); !lost {
		fmt.Fprintf(stderr, "report: %s\n", p.dir.File("report.html"))
	}
	if err := p.failure(stderr); err != nil {
		return err
	}
	if p.results.Interrupted {
		return &exitError{code: exitInterrupted, msg: fmt.Sprintf("interrupted after %d runs; the report has what ran", p.results.Summary.Runs)}
	}
	return underList(p.results)
}

// failure is an error of Holdfast itself or of its output, nil without one. It
// prints the first defects to stderr.
func (p *played) failure(stderr io.Writer) error {
	var world *suite.WorldError
	var defects *suite.DefectsError
	var lost *suite.StoreError
	switch {
	case errors.As(p.err, &world):
		return defect(world)
	case errors.As(p.err, &defects):
		return ownDefects(stderr, defects.Defects)
	case errors.As(p.err, &lost):
		return defect(lost, "the verdicts above are complete; the run directory is not")
	}
	return nil
}

// underList is the exit code of results under their list of accepted violations.
func underList(r results.Results) error {
	switch {
	case r.Summary.Unexpected > 0 || len(r.Gone) > 0:
		return result(exitUnexpected)
	case r.Summary.Unknown > 0:
		return result(exitUnknown)
	}
	return nil
}

func show(w io.Writer, d reports.Document, format string) error {
	switch format {
	case "json":
		return results.JSON(w, d.Results)
	case "junit":
		return reports.JUnit(w, d.Results)
	case "sarif":
		return d.SARIF(w)
	case "markdown":
		return d.Markdown(w)
	default:
		d.Width, d.Colour = terminal.Width(w), terminal.Colours(w)
		return terminal.Print(w, func(w io.Writer) error { return d.Text(w) })
	}
}
