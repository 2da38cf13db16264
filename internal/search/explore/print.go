package explore

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/suite"
)

// Printed has the results of an exploration, to be printed.
type Printed struct {
	Results
	Dir  suite.Dir `json:"-"`
	Tell bool      `json:"-"` // the story of the find, if there is one
}

// Text prints it for a terminal.
func (p Printed) Text(w io.Writer) error { return p.print(w, "", "") }

// Markdown prints it for a page.
func (p Printed) Markdown(w io.Writer) error { return p.print(w, "```\n", "```\n") }

// print writes the result; tables stand between before and after.
func (p Printed) print(w io.Writer, before, after string) error {
	if p.Interrupted {
		fmt.Fprintf(w, "Interrupted: some runs are missing, or some finds are not shrunk.\n\n")
	}
	if len(p.Causes) > 0 {
		fmt.Fprintf(w, "violations, grouped by the faults before them:\n\n%s", before)
		if err := p.writeHazards(w, p.Dir.File); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", after)
	}
	if err := p.coverage(w, before, after); err != nil {
		return err
	}
	if err := p.recalled(w, before, after); err != nil {
		return err
	}
	lines := p.sentences()
	if all := p.Together(len(p.Shards)); all != "" {
		lines = append(lines, all)
	}
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return p.story(w, before, after)
}

// story tells the find that has ended the exploration.
func (p Printed) story(w io.Writer, before, after string) error {
	i := slices.IndexFunc(p.Causes, func(c Found) bool { return !c.Known && c.Shrunk != nil })
	if !p.Tell || i < 0 {
		return nil
	}
	text, err := os.ReadFile(p.Dir.File(p.Causes[i].Shrunk.Story))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nthe run after shrinking:\n\n%s%s%s", before, text, after)
	return err
}

// coverage is the table of faults and phases; after the few runs to a first find
// it would be all holes.
func (p Printed) coverage(w io.Writer, before, after string) error {
	if p.Tell && p.Violated > 0 {
		return nil
	}
	fmt.Fprintf(w, "strikes of each fault in each phase (a dot is a gap):\n\n%s", before)
	if err := p.writeCoverage(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", after)
	return err
}

// recalled is a table of the hazards of the catalogue.
func (p Printed) recalled(w io.Writer, before, after string) error {
	if len(p.Catalogue) == 0 {
		return nil
	}
	fmt.Fprintf(w, "hazards of the catalogue that exploration found:\n\n%s", before)
	came, err := p.writeRecall(w)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n%d of %d\n\n", after, came, len(p.Catalogue))
	return err
}
