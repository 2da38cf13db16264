package main

import "fmt"

// report is the result of a hunt.
type report struct {
	Command string `json:"command"`
	Found   int    `json:"found"`  // mutants in the source
	Chosen  int    `json:"chosen"` // of them, to be played
	counts
	Files     []row `json:"files"`
	Operators []row `json:"operators"`
	// Left are the catalogue runs with unexpected verdicts on the original.
	Left []string `json:"left_out,omitempty"`
	// Tests says that the tests of the locks took part.
	Tests bool `json:"tests,omitempty"`
	// Stale are notes of equivalence that match no mutant. Wrong are notes about
	// killed mutants.
	Stale []string `json:"stale,omitempty"`
	Wrong []string `json:"wrong,omitempty"`

	mutants []*result
	notes   *notes
}

// row counts the mutants of a file or of an operator.
type row struct {
	Name string `json:"name"`
	counts
}

// counts sums up mutants. Survived includes the equivalent ones.
type counts struct {
	Played     int `json:"played"`
	Killed     int `json:"killed"`
	Survived   int `json:"survived"`
	NotReached int `json:"not_reached"`
	TimedOut   int `json:"timed_out"`
	Equivalent int `json:"equivalent"`
	// Tested are those that no run kills and a test of the locks does. TestedLate are
	// those of them that timed out in a run.
	Tested     int `json:"tested,omitempty"`
	TestedLate int `json:"tested_timed_out,omitempty"`
}

func (c *counts) add(r *result) {
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
			c.TestedLate++
		}
	}
}

// raw is the share of killed mutants in percent, without timeouts.
func (c counts) raw() string { return share(c.Killed, c.Played-c.TimedOut) }

// score is the share without the mutants called equivalent.
func (c counts) score() string { return share(c.Killed, c.Played-c.TimedOut-c.Equivalent) }

// both is the score with the tests of the locks: what a run or a test kills. A mutant
// that times out in a run and that no test kills counts for nothing.
func (c counts) both() string {
	return share(c.Killed+c.Tested, c.Played-c.TimedOut+c.TestedLate-c.Equivalent)
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
func newReport(s *source, chosen []*Mutant, results []*result, left []string) (*report, error) {
	n, err := readNotes(notesFile)
	if err != nil {
		return nil, err
	}
	if 100*len(n.Equivalent) > mostEquivalent*len(s.Mutants) {
		return nil, fmt.Errorf("notes on mutants: %d of %d are called equivalent, at most %d %% may be", len(n.Equivalent), len(s.Mutants), mostEquivalent)
	}
	r := &report{Found: len(s.Mutants), Chosen: len(chosen), Left: left, Stale: n.stale(s.Mutants), mutants: results, notes: n}
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
func count(rows *[]row, name string, one *result) {
	if n := len(*rows); n == 0 || (*rows)[n-1].Name != name {
		*rows = append(*rows, row{Name: name})
	}
	(*rows)[len(*rows)-1].add(one)
}

// alive counts the mutants that neither a run nor a test killed and no note calls
// equivalent.
func (r *report) alive() int {
	n := 0
	for _, one := range r.survivors() {
		if one.Test == "" {
			n++
		}
	}
	return n
}

// survivors are the mutants that no run killed and no note calls equivalent.
func (r *report) survivors() []*result {
	var some []*result
	for _, one := range r.mutants {
		if (one.Status == survived || one.Status == notReached) && one.Equivalent == "" {
			some = append(some, one)
		}
	}
	return some
}
