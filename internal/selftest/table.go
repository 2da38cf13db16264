package selftest

import (
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search"
)

const (
	found      = "found"
	unfinished = "unfinished"
	// NotFound is the status of a mutant that a search has missed.
	NotFound = "not found"
)

type aim struct {
	Name    string `json:"name"`
	Of      string `json:"of"`
	Class   int    `json:"class"`
	Mistake string `json:"mistake"`
	// Status is "found", "not found" or "unfinished"; in the scenarios of the catalogue
	// "killed", "survived" or "unfinished".
	Status string `json:"status"`
}

func sought(m gallery.Mutant, status string) aim {
	return aim{m.Name, m.Of, m.Class, m.Mistake, status}
}

// FoundCounts sums up a search for mutants.
type FoundCounts struct {
	Mutants  int `json:"mutants"`
	Found    int `json:"found"`
	NotFound int `json:"not_found"`
	Median   int `json:"median"`  // of what it took to find each; 0 if most were not found
	Highest  int `json:"highest"` // of the same
}

func (c *FoundCounts) count(status string) {
	c.Mutants++
	switch status {
	case found:
		c.Found++
	case NotFound:
		c.NotFound++
	}
}

// measure computes the median and the highest of what it took. The mutants that are not
// among these took more.
func (c *FoundCounts) measure(took []int) {
	slices.Sort(took)
	if at := midpoint(c.Mutants); at < len(took) {
		c.Median = took[at]
	}
	if n := len(took); n > 0 {
		c.Highest = took[n-1]
	}
}

// mutant returns the aim of a row that embeds it.
func (a aim) mutant() aim { return a }

// mutantsWith names the mutants with a status, each with a hint: the words for it, the name and
// the mistake.
func mutantsWith[R interface{ mutant() aim }](rows []R, status, words string) (names, hints []string) {
	for _, r := range rows {
		if m := r.mutant(); m.Status == status {
			names = append(names, m.Name)
			hints = append(hints, fmt.Sprintf("%s shows what is wrong with %s: %s", words, m.Name, m.Mistake))
		}
	}
	return names, hints
}

// printMutants writes a table of mutants with a sentence below, as Markdown with the command
// first. The columns from a number on to the one before the last hold numbers.
func printMutants(w io.Writer, markdown bool, command string, rows [][]string, numbers int, sentence string) error {
	if markdown {
		fmt.Fprintf(w, "    %s\n\n", command)
	}
	if err := (search.Table{Rows: rows, From: numbers, To: len(rows[0]) - 1}).Write(w, markdown); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", sentence)
	return err
}
