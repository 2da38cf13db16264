package checker

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/history"
)

// judgesOf appoints the judges that the options ask for.
func judgesOf(o Options) *court {
	c := newCourt(o.Judges, o.Budget)
	if o.fast != nil {
		c.fast = o.fast
	}
	return c
}

// noted adds to a verdict who decided it, where that was not both judges.
func noted(v Verdict, d decision) Verdict {
	switch {
	case d.note == "" || strings.Contains(v.Reason, d.note):
	case v.Reason == "":
		v.Reason = d.note
	default:
		v.Reason += " (" + d.note + ")"
	}
	return v
}

// disputed is the verdict while the judges disagree.
func disputed(d decision) Verdict {
	return Verdict{Outcome: Unknown, Ops: d.ops, Reason: "the judges disagree, which is a defect of the checker"}
}

// undecidable is the verdict on operations that no judge could decide.
func undecidable(d decision, o Options) Verdict {
	who := "the judges"
	switch o.Judges {
	case FastOnly:
		who = "the fast judge"
	case PorcupineOnly:
		who = "porcupine"
	}
	return Verdict{Outcome: Unknown, Ops: d.ops, Reason: fmt.Sprintf("%s did not decide within %s: %s", who, o.Budget, d.why)}
}

// writeDown completes a disagreement about one lock of a history.
func (t *trace) writeDown(e *DisagreementError, lock string, c *court) error {
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
		if ops, _ := again.lockOps(l); !c.differ(ops, again.rules()) {
			e.Minimal = nil
		}
	}
	return e
}
