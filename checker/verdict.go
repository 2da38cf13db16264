package checker

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// Outcome is the decision of a judge.
type Outcome = linear.Outcome

// The outcomes. Unknown is never counted as ok.
const (
	OutcomeOK = linear.OutcomeOK
	Violated  = linear.Violated
	Unknown   = linear.Unknown
)

// Verdict is the judgement of one property of one history.
type Verdict struct {
	Outcome Outcome `json:"verdict"`
	Class   string  `json:"class,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// AtMS is the start of the violation, in milliseconds since the start of the run.
	AtMS float64 `json:"at_ms,omitempty"`
	// Ops are the operations that prove it, at most five.
	Ops []int64 `json:"ops,omitempty"`
	// OverlapMS is the length of the longest overlap; exclusion only.
	OverlapMS float64 `json:"overlap_ms,omitempty"`
	// Evidence is "server log" if the verdict needs Server events, and empty if
	// the clients' own operations are enough.
	Evidence string `json:"evidence,omitempty"`
	// Inherent is the reason why no lock with the same claims could have
	// avoided the violation; empty if it is the lock's fault.
	Inherent string `json:"inherent,omitempty"`
	// Excused counts the inherent violations of the property. For exclusion it
	// stops at the first one of the worst kind.
	Excused int `json:"excused,omitempty"`
}

// Faulty reports whether the lock broke a promise that it could have kept.
func (v Verdict) Faulty() bool { return v.Outcome == Violated && v.Inherent == "" }

// noServerLog is the reason of verdicts that need Server events and have none.
const noServerLog = "no server log"

func violation(ns int64, ops []int64, format string, args ...any) Verdict {
	reason := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return Verdict{Outcome: Violated, Reason: reason, AtMS: ms(ns), Ops: ops}
}

func byServers(v Verdict) Verdict {
	v.Evidence = "server log"
	return v
}

// earlier returns the worse of two verdicts, which may be ok. A violation that is the
// lock's fault is worse than an inherent one, and then the earlier one is.
func earlier(a, b Verdict) Verdict {
	first := b
	switch {
	case a.Outcome != Violated:
	case b.Outcome != Violated, a.Faulty() && !b.Faulty(), a.Faulty() == b.Faulty() && a.AtMS <= b.AtMS:
		first = a
	}
	first.Excused = a.Excused + b.Excused
	return first
}
