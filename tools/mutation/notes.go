package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed notes.yaml
var notesFile []byte

// reasons are the reasons to call a mutant equivalent.
var reasons = map[string]string{
	"same":      "the changed code gives the same values and the same requests",
	"no-equal":  "the two sides are never equal, or equality comes to the same",
	"elsewhere": "another check, or a cleanup that follows, comes to the same",
	"words":     "only the text of an error changes",
	"unread":    "nobody reads the value that changes",
	"speed":     "only time or memory of this process changes, not what is sent or when",
}

// mostEquivalent is the largest share of mutants that may be called equivalent,
// in percent.
const mostEquivalent = 10

// notes are the known facts about survivors.
type notes struct {
	Equivalent []equivalence `yaml:"equivalent"`
	Takes      []remedy      `yaml:"takes"`
}

// equivalence claims that a mutant behaves as the original does. The claim is
// void when somebody changes its line.
type equivalence struct {
	Mutant string `yaml:"mutant"` // its id; the number of the line may have changed
	Line   string `yaml:"line"`
	Reason string `yaml:"reason"` // of [reasons]
}

// remedy names a test that would kill the survivors of a place.
type remedy struct {
	File string   `yaml:"file"`
	In   []string `yaml:"in"`   // functions; empty for all of the file
	Line string   `yaml:"line"` // a part of the line; empty for any
	By   string   `yaml:"by"`   // what kills them
}

func readNotes(text []byte) (*notes, error) {
	n := &notes{}
	if err := yaml.UnmarshalWithOptions(text, n, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read notes on mutants: %w", err)
	}
	for _, e := range n.Equivalent {
		if reasons[e.Reason] == "" {
			return nil, fmt.Errorf("read notes on mutants: %s has no reason %q", e.Mutant, e.Reason)
		}
	}
	return n, nil
}

// matches reports whether the claim is about a mutant. Its line may have moved.
func (e equivalence) matches(m *Mutant) bool {
	file, rest, _ := strings.Cut(e.Mutant, ":")
	_, operator, _ := strings.Cut(rest, ":")
	own := strings.TrimPrefix(m.ID, fmt.Sprintf("%s:%d:", m.File, m.Line))
	return file == m.File && operator == own && e.Line == m.Source
}

// reason is the reason for which a mutant is equivalent, empty if it is not. The line
// number decides between equal lines of a file.
func (n *notes) reason(m *Mutant, all []*Mutant) string {
	for _, e := range n.Equivalent {
		if e.matches(m) && (e.Mutant == m.ID || alone(e, all)) {
			return e.Reason
		}
	}
	return ""
}

func alone(e equivalence, all []*Mutant) bool {
	found := 0
	for _, m := range all {
		if e.matches(m) {
			found++
		}
	}
	return found == 1
}

// stale are the claims that match no mutant any more.
func (n *notes) stale(all []*Mutant) []string {
	var some []string
	for _, e := range n.Equivalent {
		fits := false
		for _, m := range all {
			fits = fits || e.matches(m) && (e.Mutant == m.ID || alone(e, all))
		}
		if !fits {
			some = append(some, e.Mutant)
		}
	}
	return some
}

// remedyFor names the test that would kill a mutant; empty without a note.
func (n *notes) remedyFor(m *Mutant) string {
	for _, r := range n.Takes {
		in := len(r.In) == 0
		for _, where := range r.In {
			in = in || where == m.Func
		}
		if in && r.File == m.File && strings.Contains(m.Source, r.Line) {
			return r.By
		}
	}
	return ""
}
