package results

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// Passed reports whether a run is as its scenario argues. A failed run is not.
func (r *Run) Passed() bool { return r.AsExpected && r.Failure == "" }

// Undecided reports whether a run is unexpected only because a verdict is unknown.
func (r *Run) Undecided() bool {
	if r.Failure != "" {
		return true
	}
	some := false
	for p, v := range r.Verdicts {
		if r.Matches(p) {
			continue
		}
		if v.Outcome != checker.Unknown {
			return false
		}
		some = true
	}
	return some
}

// Matches reports whether the verdict on p is the expected one, or accepted.
func (r *Run) Matches(p checker.Property) bool {
	v := r.Verdicts[p]
	if _, accepted := r.Accepted[p]; accepted && v.Outcome != checker.OutcomeOK {
		return true
	}
	if want, ok := r.Expected[p]; ok && want != v.Outcome {
		return false
	}
	class, ok := r.ExpectedClass[p]
	return !ok || class == "" || class == v.Class
}

// Summarize counts every run once: as expected; unknown, if only an unknown
// verdict is unexpected; otherwise unexpected.
func Summarize(runs []Run) Summary {
	s := Summary{Runs: len(runs)}
	for i := range runs {
		switch r := &runs[i]; {
		case r.Passed():
			s.AsExpected++
		case r.Undecided():
			s.Unknown++
		default:
			s.Unexpected++
		}
	}
	return s
}

// InterruptedWords describes what is missing from interrupted results; empty for
// complete ones.
func (r Results) InterruptedWords() string {
	if !r.Interrupted {
		return ""
	}
	words := "Interrupted: the command ended before it had played all of its runs"
	if n := len(r.Pending); n > 0 {
		words += fmt.Sprintf("; %d of %s missing", n, english.Count(n+len(r.Runs), "run"))
	}
	return words + "."
}
