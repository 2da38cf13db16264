package adapter

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/lock"
)

const other = "other"

// classes are the classes of errors, by name. They are those of histories, and
// two more: a closed lock is canceled there, and what is not supported is not
// asked for.
var classes = map[string]error{
	"unknown":     lock.ErrUnknown,
	"no-acks":     lock.ErrAcks,
	"lost":        lock.ErrLost,
	"refused":     lock.ErrRefused,
	"not-held":    lock.ErrNotHeld,
	"busy":        lock.ErrBusy,
	"canceled":    context.Canceled,
	"closed":      lock.ErrClosed,
	"unsupported": errors.ErrUnsupported,
	other:         nil,
}

// classOrder puts the class that tells most first.
var classOrder = []string{"unknown", "no-acks", "lost", "not-held", "busy", "refused", "canceled", "closed", "unsupported"}

func classify(err error) []string {
	var all []string
	for _, c := range classOrder {
		if errors.Is(err, classes[c]) || c == "canceled" && errors.Is(err, context.DeadlineExceeded) {
			all = append(all, c)
		}
	}
	if all == nil {
		all = []string{other}
	}
	return all
}

// mostMessage keeps the text of an error within a line.
const mostMessage = 64 << 10

func failure(err error) reply {
	text := err.Error()
	return reply{Errors: classify(err), Message: text[:min(len(text), mostMessage)]}
}

// Error is an error that a process has reported. errors.Is finds the errors of
// package lock, context.Canceled and errors.ErrUnsupported in it.
type Error struct {
	// Classes are the error's classes as docs/adapter-protocol.md lists them.
	Classes []string
	// Message is the error's text in the process.
	Message string

	ended error // of the context of the call
}

// Error implements error: it is the text of the original.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what the classes stand for.
func (e *Error) Unwrap() []error {
	var is []error
	for _, c := range e.Classes {
		if err := classes[c]; err != nil {
			is = append(is, err)
		}
		if c == "canceled" && e.ended != nil {
			is = append(is, e.ended)
		}
	}
	return is
}

// ErrEnded is the error of calls when the process has ended, or has closed its standard
// output.
var ErrEnded = errors.New("the process has ended")

// ProtocolError is the error of calls when the process does not speak the protocol.
type ProtocolError struct {
	Line string // what it wrote
	Err  error
}

func (e *ProtocolError) Error() string {
	return input.Sprintf("its output is not %s: %v: %q", Protocol, e.Err, e.Line)
}

func (e *ProtocolError) Unwrap() error { return e.Err }
