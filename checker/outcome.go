package checker

import "github.com/holdfast-go/holdfast/checker/linear"

// Outcome is what a judge decided.
type Outcome = linear.Outcome

// The outcomes. Unknown is never counted as ok.
const (
	OutcomeOK = linear.OutcomeOK
	Violated  = linear.Violated
	Unknown   = linear.Unknown
)
