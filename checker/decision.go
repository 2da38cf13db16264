package checker

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/linear"
	"github.com/holdfast-go/holdfast/history"
)

// noted adds to a verdict the judge that decided it, unless both did.
func noted(v Verdict, d linear.Decision) Verdict {
	switch {
	case d.Note == "" || strings.Contains(v.Reason, d.Note):
	case v.Reason == "":
		v.Reason = d.Note
	default:
		v.Reason += " (" + d.Note + ")"
	}
	return v
}

// disputed is the verdict if the judges contradict each other.
func disputed(d linear.Decision) Verdict {
	return Verdict{Outcome: Unknown, Ops: d.Ops, Reason: "the judges disagree, which is a defect of the checker"}
}

// undecidable is the verdict if no judge could decide.
func undecidable(d linear.Decision, o Options) Verdict {
	who := "the judges"
	switch o.Judges {
	case linear.FastOnly:
		who = "the fast judge"
	case linear.PorcupineOnly:
		who = "porcupine"
	}
	return Verdict{Outcome: Unknown, Ops: d.Ops, Reason: fmt.Sprintf("%s did not decide within %s: %s", who, o.Budget, d.Why)}
}

// writeDown completes a disagreement about one lock of a history.
func (t *trace) writeDown(e *linear.DisagreementError, lock string, j *linear.Judges) error {
	e.Lock = lock
	if e.Minimal == nil {
		return e
	}
	h := &t.h.Header
	e.Minimal.Header = history.Header{
		Format: history.Format, Scenario: h.Scenario, Lock: h.Lock, World: h.World, Seed: h.Seed, Version: h.Version, Claims: h.Claims,
	}
	e.Minimal.Header.Claims.Lease = true // by what every acquire asked for
	if history.Validate(e.Minimal) != nil {
		e.Minimal = nil
		return e
	}
	again := newTrace(e.Minimal)
	for _, l := range again.locks {
		if ops, _ := again.lockOps(l); !j.Differ(ops, again.rules()) {
			e.Minimal = nil
		}
	}
	return e
}
