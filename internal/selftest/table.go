package selftest

import (
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search"
)

const (
	found      = "found"
	unfinished = "unfinished"
	notFound   = "not found"
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

// foundCounts sums up a search for mutants.
type foundCounts struct {
	Mutants  int `json:"mutants"`
	Found    int `json:"found"`
	NotFound int `json:"not_found"`
	Median   int `json:"median"`  // of what it took to find each; 0 if most were not found
	Highest  int `json:"highest"` // of the same
}

func (c *foundCounts) count(status string) {
	c.Mutants++
	switch status {
	case found:
		c.Found++
	case notFound:
		c.NotFound++
	}
}

// measure computes the median and the highest of what it took. The mutants that are not
// among these took more.
func (c *foundCounts) measure(took []int) {
	slices.Sort(took)
	if at := midpoint(c.Mutants); at < len(took) {
		c.Median = took[at]
	}
	if n := len(took); n > 0 {
		c.Highest = took[n-1]
	}
}

// alive names the mutants of rows that were not found, with the mistake of each. words name
// the thing that does not show it; hint gives a possible reason.
func alive[R interface{ mutant() aim }](c foundCounts, f Flaws, rows []R, words, hint string) Alive {
	a := Alive{Flaws: f, Sofar: fmt.Sprintf("%s of %d found", english.Count(c.Found, "mutant"), c.Mutants), Status: notFound}
	for _, r := range rows {
		if m := r.mutant(); m.Status == notFound {
			a.Names = append(a.Names, m.Name)
			a.Hints = append(a.Hints, m.shown(words))
		}
	}
	a.Hints = append(a.Hints, hint)
	return a
}

// Alive are the mutants that a search has left alive.
type Alive struct {
	Flaws
	Sofar  string   // how many are not
	Names  []string // of the mutants
	Status string   // of each
	Hints  []string
}

func (a aim) mutant() aim { return a }

// shown is a hint: the words for what does not show the mistake.
func (a aim) shown(words string) string {
	return fmt.Sprintf("%s shows what is wrong with %s: %s", words, a.Name, a.Mistake)
}

// printMutants writes a table of mutants with a sentence below, as Markdown with the command
// first. The columns from a number on to the one before the last hold numbers.
func printMutants[R interface {
	mutant() aim
	cells() []string
}](w io.Writer, markdown bool, command string, head []string, mutants []R, numbers int, sentence string) error {
	if markdown {
		fmt.Fprintf(w, "    %s\n\n", command)
	}
	rows := [][]string{head}
	for _, r := range mutants {
		rows = append(rows, append([]string{r.mutant().Name, r.mutant().Of}, r.cells()...))
	}
	if err := (search.Table{Rows: rows, From: numbers, To: len(rows[0]) - 1}).Write(w, markdown); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", sentence)
	return err
}
