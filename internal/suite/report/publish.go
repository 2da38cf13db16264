package report

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/reports"
)

// Outputs are the places beside stdout in which a CI system looks for results.
type Outputs struct {
	JUnit, Markdown string // files to write; empty for none
	Summary         string // a file to which Markdown is added, as GitHub's job summary
	// Annotations gets a line for each verdict that fails the job, in the words of
	// GitHub; nil for none.
	Annotations io.Writer
}

// GitHub adds what a job of GitHub Actions offers, as its environment says.
func (o Outputs) GitHub(getenv func(string) string, stderr io.Writer) Outputs {
	o.Summary = getenv("GITHUB_STEP_SUMMARY")
	if getenv("GITHUB_ACTIONS") == "true" {
		o.Annotations = stderr
	}
	return o
}

// Publish writes a document to all places. It tries all of them, and joins the
// errors.
func (o Outputs) Publish(doc reports.Document) error {
	var errs []error
	if o.JUnit != "" {
		errs = append(errs, disk.File(o.JUnit, func(w io.Writer) error { return reports.JUnit(w, doc.Results) }))
	}
	if o.Markdown != "" {
		errs = append(errs, disk.File(o.Markdown, func(w io.Writer) error { return doc.Markdown(w) }))
	}
	if o.Summary != "" {
		errs = append(errs, appendTo(o.Summary, doc))
	}
	if o.Annotations != nil {
		errs = append(errs, doc.Annotate(o.Annotations))
	}
	return errors.Join(errs...)
}

func appendTo(path string, doc reports.Document) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return errors.Join(doc.Markdown(f), f.Close())
}
