package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/go-json-experiment/json/v1"

	"github.com/holdfast-go/holdfast/internal/input"
)

type decoder struct {
	b      lineReader
	plain  *plainReader
	n      int   // of the line that was read last
	room   int64 // bytes of memory left for events
	part   partly
	header Header
	ended  bool // the last event was the End event
	cutOff bool // to end too early is no error
	noLog  bool // events of kind Server are left out
}

const bufferSize = 64 << 10

func newDecoder(r io.Reader, buffer *bufio.Reader) (*decoder, error) {
	d := &decoder{b: lineReader{Reader: buffer}, plain: newPlainReader(), room: maxMemory}
	d.part, _ = r.(partly)
	d.ended = true // badHeader reports an empty history
	raw, err := d.readLine()
	if errors.Is(err, io.EOF) {
		return nil, d.invalidf("the history is empty")
	}
	if err != nil {
		return nil, err
	}
	d.ended = false
	if err := strict(raw, &d.header); err != nil || d.header.Format != Format {
		return nil, d.badHeader(raw, err)
	}
	return d, nil
}

// badHeader is the error of a header that could not be read, or of another format.
func (d *decoder) badHeader(raw []byte, err error) error {
	// The format first: a newer one may well have fields we lack.
	var f struct {
		Format string `json:"format"`
	}
	switch unread := v1.Unmarshal(raw, &f); {
	case unread != nil:
		return d.invalidf("not a history: the first line is not a JSON object: %s", strings.TrimPrefix(plainJSON(unread), "not JSON: "))
	case f.Format == "":
		return d.invalidf("not a history: the first line has no \"format\"")
	case f.Format != Format:
		return d.invalidf("this is %q; this version reads %q", f.Format, Format)
	}
	return d.invalidf("%s", plainJSON(err))
}

// readLine reads a line, which the next call overwrites. The error is io.EOF if there
// is none and none is needed.
func (d *decoder) readLine() ([]byte, error) {
	d.n++
	raw, err := d.b.readLine()
	switch {
	case d.cutOff && cutOffLine(err):
		return nil, io.EOF
	case errors.Is(err, io.EOF) && len(raw) > 0:
		return nil, d.endsEarly("the line is cut off: it does not end in a newline")
	case errors.Is(err, io.EOF) && d.ended:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return nil, d.endsEarly("the history is cut off: its last event must be of kind %q", End)
	case errors.Is(err, errLongLine):
		return nil, d.invalidf("%s", err)
	case err != nil:
		return nil, fmt.Errorf("read history: line %d: %w", d.n, err)
	}
	return raw, nil
}

// decodeEvent reads a line into an empty event.
func (d *decoder) decodeEvent(raw []byte, e *Event) error {
	if !d.plain.event(raw, e) {
		*e = Event{}
		if err := strict(raw, e); err != nil {
			return d.invalidf("%s", plainJSON(err))
		}
	}
	d.ended = e.Kind == End
	return nil
}

func (d *decoder) invalidf(format string, args ...any) error {
	return &InvalidError{Line: d.n, Event: d.n - 1, Reason: input.Sprintf(format, args...)}
}
