package mutation

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/version"
)

// Report is the result of a hunt, and the JSON document that the command prints.
type Report struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Command string `json:"command"`
	Found   int    `json:"found"`  // mutants in the source
	Chosen  int    `json:"chosen"` // of them, to be played
	Counts
	Files     []Row `json:"files"`
	Operators []Row `json:"operators"`
	// Left are the catalogue runs with unexpected verdicts on the original.
	Left []string `json:"left_out,omitempty"`
	// Tests says that the tests of the locks took part.
	Tests bool `json:"tests,omitempty"`
	// Stale are claims of equivalence that match no mutant. Wrong are claims
	// about killed mutants.
	Stale   []string  `json:"stale,omitempty"`
	Wrong   []string  `json:"wrong,omitempty"`
	Mutants []*Result `json:"mutants"`

	notes *notes
	drawn bool // the chosen mutants are a sample
}

// Row counts the mutants of a file or of an operator.
type Row struct {
	Name string `json:"name"`
	Counts
}

// Counts sums up mutants. Survived includes the equivalent ones.
type Counts struct {
	Played     int `json:"played"`
	Killed     int `json:"killed"`
	Survived   int `json:"survived"`
	NotReached int `json:"not_reached"`
	TimedOut   int `json:"timed_out"`
	Equivalent int `json:"equivalent"`
	// Tested are those that no run kills and a test of the locks does.
	Tested int `json:"tested,omitempty"`

	finished int // of the tested, those that timed out in a run
}

func (c *Counts) add(r *Result) {
	c.Played++
	switch r.Status {
	case killed:
		c.Killed++
	case survived:
		c.Survived++
	case notReached:
		c.NotReached++
	case timedOut:
		c.TimedOut++
	}
	if r.Equivalent != "" {
		c.Equivalent++
	}
	if r.Test != "" {
		c.Tested++
		if r.Status == timedOut {
			c.finished++
		}
	}
}

// Raw is the share of killed mutants in percent, without timeouts.
func (c Counts) Raw() string { return share(c.Killed, c.Played-c.TimedOut) }

// Score is Raw without the mutants called equivalent.
func (c Counts) Score() string { return share(c.Killed, c.Played-c.TimedOut-c.Equivalent) }

// Both is Score with the tests of the locks: what a run or a test kills. A mutant that
// times out in a run and that no test kills counts for nothing.
func (c Counts) Both() string {
	return share(c.Killed+c.Tested, c.Played-c.TimedOut+c.finished-c.Equivalent)
}

// share is rounded down, so that 100 means all.
func share(part, of int) string {
	if of == 0 {
		return "-"
	}
	tenths := 1000 * part / of
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

// newReport sums up the results of the chosen mutants of a source. It fails if
// the notes call too many mutants equivalent.
func newReport(s *source, chosen []*Mutant, results []*Result, left []string) (*Report, error) {
	n, err := readNotes(notesFile)
	if err != nil {
		return nil, err
	}
	if 100*len(n.Equivalent) > mostEquivalent*len(s.Mutants) {
		return nil, fmt.Errorf("notes on mutants: %d of %d are called equivalent, at most %d %% may be", len(n.Equivalent), len(s.Mutants), mostEquivalent)
	}
	r := &Report{Schema: "holdfast-mutation/1", Version: version.Holdfast, Found: len(s.Mutants), Chosen: len(chosen),
		Left: left, Stale: n.stale(s.Mutants), Mutants: results, notes: n}
	for _, one := range results {
		if reason := n.reason(one.Mutant, s.Mutants); reason != "" {
			if one.Status == killed || one.Test != "" {
				r.Wrong = append(r.Wrong, one.ID)
			} else {
				one.Equivalent = reason
			}
		}
		r.add(one)
		count(&r.Files, one.File, one)
	}
	for _, o := range operators {
		for _, one := range results {
			if one.Operator == o.name {
				count(&r.Operators, o.name, one)
			}
		}
	}
	return r, nil
}

// count adds a result to the last row, or to a new one if the name differs.
func count(rows *[]Row, name string, one *Result) {
	if n := len(*rows); n == 0 || (*rows)[n-1].Name != name {
		*rows = append(*rows, Row{Name: name})
	}
	(*rows)[len(*rows)-1].add(one)
}

// Survivors counts the mutants that nothing killed and nobody calls equivalent.
func (r *Report) Survivors() int {
	n := 0
	for _, one := range r.survivors() {
		if one.Test == "" {
			n++
		}
	}
	return n
}

// survivors are the mutants that no run killed and nobody calls equivalent.
func (r *Report) survivors() []*Result {
	var some []*Result
	for _, one := range r.Mutants {
		if (one.Status == survived || one.Status == notReached) && one.Equivalent == "" {
			some = append(some, one)
		}
	}
	return some
}
