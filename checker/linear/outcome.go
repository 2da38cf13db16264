package linear

// Outcome is what a judge decided.
type Outcome string

// The outcomes. Unknown never counts as ok.
const (
	Good     Outcome = "ok"
	Violated Outcome = "violated"
	Unknown  Outcome = "unknown"
)
