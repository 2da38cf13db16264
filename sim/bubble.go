package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// BubbleError reports a run that did not end properly: every goroutine was blocked for
// ever, or goroutines remained after its end. The history up to then is intact.
type BubbleError struct {
	// Reason is the runtime's word on it, with the stacks of the goroutines
	// that are blocked where the runtime gives them.
	Reason string
}

func (e *BubbleError) Error() string { return "simulated run: " + e.Reason }

// Bubble runs f in virtual time: it returns when f has returned and every
// goroutine that f started has ended. A deadlock and a goroutine that never
// ends are returned as a *BubbleError, as is a panic of f itself. A panic in
// any other goroutine ends the process, as always in Go.
//
// The testing.T that synctest asks for never leaves this function: its
// methods need a real test around them.
func Bubble(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &BubbleError{Reason: fmt.Sprint(p)}
		}
	}()
	synctest.Test(new(testing.T), func(*testing.T) { f() })
	return nil
}
