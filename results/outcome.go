package results

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
)

// Passed reports whether a run came out as its scenario argues. A run that failed
// never did.
func (r *Run) Passed() bool { return r.AsExpected && r.Failure == "" }

// Undecided reports whether a run is not as expected only because something is
// unknown.
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

// Matches reports whether the verdict on p is the one the scenario argues for, or
// accepted.
func (r *Run) Matches(p checker.Property) bool {
	v := r.Verdicts[p]
	if _, accepted := r.Accepted[p]; accepted && v.Outcome == checker.Violated {
		return true
	}
	if want, ok := r.Expected[p]; ok && want != v.Outcome {
		return false
	}
	class, ok := r.ExpectedClass[p]
	return !ok || class == "" || class == v.Class
}

// Summarize counts runs. Every run is counted once: as expected; unknown, when
// all that keeps it from being as expected is that something was not decided;
// unexpected otherwise.
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

// InterruptedWords says that the results are not complete; empty when they are.
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
