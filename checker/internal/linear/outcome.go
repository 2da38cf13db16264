package linear

// Outcome is the decision of a judge.
type Outcome string

// The outcomes. Unknown never counts as ok.
const (
	OutcomeOK Outcome = "ok"
	Violated  Outcome = "violated"
	Unknown   Outcome = "unknown"
)
