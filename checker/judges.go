package checker

import "github.com/holdfast-go/holdfast/checker/internal/linear"

// Judges chooses the judges that decide whether a history is linearizable.
type Judges = linear.Choice

// The judges of [Options.Judges].
const (
	BothJudges    = linear.Both
	FastJudge     = linear.FastOnly
	PorcupineOnly = linear.PorcupineOnly
)

// DisagreementError says that the two judges contradict each other: one is wrong.
type DisagreementError = linear.DisagreementError
