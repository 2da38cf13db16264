package checker

import "github.com/holdfast-go/holdfast/checker/internal/linear"

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
	// AtMS is the start of the violation, in milliseconds since the start of
	// the run.
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
