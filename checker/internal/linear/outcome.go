package linear

// Outcome is what a judge decided.
type Outcome string

// The outcomes. Unknown never counts as ok.
const (
	OutcomeOK Outcome = "ok"
	Violated  Outcome = "violated"
	Unknown   Outcome = "unknown"
)
