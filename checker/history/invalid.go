package history

import "fmt"

// InvalidError reports a history that cannot be judged. It shows a defect of the
// recorder, never a violation.
type InvalidError struct {
	Line   int // in the encoded history; the header is line 1
	Event  int // counted from 1; 0 for the header
	Reason string
	// CutOff is true if the history ends too early, but is valid so far:
	// [DecodeCutOff] reads it. It is false if even the header is missing.
	CutOff bool
}

func (e *InvalidError) Error() string {
	if e.Event == 0 {
		return fmt.Sprintf("invalid history: line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("invalid history: line %d (event %d): %s", e.Line, e.Event, e.Reason)
}
