package history

import (
	"errors"
	"fmt"
	"io"
)

// DecodeCutOff reads a history whose recorder was killed: all complete lines, with
// an added [End] at the time of the last event. It reads a complete history as
// [Decode] does. The header must be complete, and the rest must be valid.
//
// The judges treat the history as if the run had ended there, and leave unknown facts
// open. These are the leftovers (cleanup is unknown), and operations that might still
// have returned in time.
func DecodeCutOff(r io.Reader) (*History, error) {
	return decode(r, func(d *decoder) (*History, error) {
		d.cutOff = true
		h, err := d.decodeEvents()
		if err != nil || d.ended {
			return h, err
		}
		end := Event{Kind: End, End: &EndEvent{CutOff: true}}
		if n := len(h.Events); n > 0 {
			end.Time = h.Events[n-1].Time
		}
		h.Events = append(h.Events, end)
		return h, nil
	})
}

// cutOffLine reports whether a reader's error means that its data ends too early.
func cutOffLine(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func (d *decoder) endsEarly(format string, args ...any) error {
	return &InvalidError{Line: d.n, Event: d.n - 1, Reason: fmt.Sprintf(format, args...), CutOff: d.n > 1}
}
