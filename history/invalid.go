package history

import "fmt"

// InvalidError says that a history cannot be judged. An invalid history is a
// defect of whoever recorded it; it is never a violation.
type InvalidError struct {
	Line   int // in the encoded history; the header is line 1
	Event  int // counted from 1; 0 for the header
	Reason string
	// CutOff says that the history ends too early, and is otherwise right as
	// far as it was read: [DecodeCutOff] reads what there is. It is not set
	// when not even the header is there.
	CutOff bool
}

func (e *InvalidError) Error() string {
	if e.Event == 0 {
		return fmt.Sprintf("invalid history: line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("invalid history: line %d (event %d): %s", e.Line, e.Event, e.Reason)
}
