package history

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Encoder writes a history event by event, as it happens.
type Encoder struct{ json *json.Encoder }

// NewEncoder writes the header.
func NewEncoder(w io.Writer, h Header) (*Encoder, error) {
	e := &Encoder{json.NewEncoder(w)}
	e.json.SetEscapeHTML(false)
	if err := e.json.Encode(h); err != nil {
		return nil, fmt.Errorf("encode history: %w", err)
	}
	return e, nil
}

// Encode writes the next event. Each is one line, and one write.
func (e *Encoder) Encode(ev *Event) error {
	if err := e.json.Encode(ev); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	return nil
}

// Encode writes a history as JSON lines: the header, then one event a line.
func Encode(w io.Writer, h *History) error {
	b := bufio.NewWriter(w)
	e, err := NewEncoder(b, h.Header)
	if err != nil {
		return err
	}
	for i := range h.Events {
		if err := e.Encode(&h.Events[i]); err != nil {
			return err
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	return nil
}

// Decode reads what [Encode] wrote. It is strict: an unknown field, a header of
// another format, a line that was cut off and a missing end are each an
// [*InvalidError]; [DecodeCutOff] forgives the last two. Decode returns errors
// of r as they are. Decode checks the shape; [Validate] checks whether the
// events make sense together.
func Decode(r io.Reader) (*History, error) {
	d, err := NewDecoder(r)
	if err != nil {
		return nil, err
	}
	return d.rest()
}

// Hash is the SHA-256 of the encoded history, in hex.
func (h *History) Hash() string {
	sum := sha256.New()
	if err := Encode(sum, h); err != nil {
		panic(err) // a hash never fails to write, and every field encodes
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// rest reads everything after the header.
func (d *Decoder) rest() (*History, error) {
	h := &History{Header: d.Header()}
	for {
		raw, err := d.line()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		var e *Event
		h.Events, e = more(h.Events)
		if err := d.decode(raw, e); err != nil {
			return nil, err
		}
	}
}

// lineReader reads lines of any length.
type lineReader struct {
	*bufio.Reader
	long []byte
}

// line reads up to the next newline. What it returns is overwritten by the
// next call.
func (b *lineReader) line() ([]byte, error) {
	raw, err := b.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return raw, err
	}
	b.long = append(b.long[:0], raw...)
	for errors.Is(err, bufio.ErrBufferFull) {
		raw, err = b.ReadSlice('\n')
		b.long = append(b.long, raw...)
	}
	return b.long, err
}

// more makes room for one more event, and returns it, empty. It doubles the
// room: what is not used yet takes no memory, so this takes less than growing
// in smaller steps, each of which needs what there is twice.
func more(events []Event) ([]Event, *Event) {
	n := len(events)
	if n == cap(events) {
		events = append(make([]Event, 0, max(2*n, 64)), events...)
	}
	events = events[:n+1]
	return events, &events[n]
}

// strict reads exactly one JSON object from a line.
func strict(raw []byte, v any) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object on its line")
	}
	return nil
}

// plainJSON puts an error of the JSON package in a user's words.
func plainJSON(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return "not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
	case errors.As(err, &kind):
		return fmt.Sprintf("field %q cannot be a %s", kind.Field, kind.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
