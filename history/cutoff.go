package history

import (
	"errors"
	"fmt"
	"io"
)

// DecodeCutOff reads a history whose recording was killed: everything up to
// the last whole line, to which it adds an [End] that says so, at the time of the last
// event. A whole history is read as [Decode] reads it. The header must be
// whole, and what is there as strictly right as ever.
//
// Judging goes as if the run had ended there, with what nobody can know left
// open: what remained (cleanup is unknown), and whether an operation that was
// still in time would have returned.
func DecodeCutOff(r io.Reader) (*History, error) {
	d, err := NewDecoder(r)
	if err != nil {
		return nil, err
	}
	d.cutOff = true
	h, err := d.rest()
	if err != nil || d.ended {
		return h, err
	}
	end := Event{Kind: End, End: &EndEvent{CutOff: true}}
	if n := len(h.Events); n > 0 {
		end.Time = h.Events[n-1].Time
	}
	h.Events = append(h.Events, end)
	return h, nil
}

// cutOffLine reports whether a reader's error means that its data ends too early.
func cutOffLine(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// endsEarly is the error of a history that was cut off, after its header or in
// it.
func (d *Decoder) endsEarly(format string, args ...any) error {
	return &InvalidError{Line: d.n, Event: d.n - 1, Reason: fmt.Sprintf(format, args...), CutOff: d.n > 1}
}
