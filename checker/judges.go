package checker

import "github.com/holdfast-go/holdfast/checker/internal/linear"

// Judges lists the values of [Options.Judges]. The first is the default.
func Judges() []string {
	return []string{string(linear.Both), string(linear.FastOnly), string(linear.PorcupineOnly)}
}

// DisagreementError says that the two judges contradict each other: one is wrong.
type DisagreementError = linear.DisagreementError
