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
	"sync"
	"unsafe"

	v1 "github.com/go-json-experiment/json/v1"

	"github.com/holdfast-go/holdfast/internal/input"
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
func (h *History) Encode(w io.Writer) error {
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

// partly is a reader that may know its length: Part is the part that was read,
// from 0 to 1, and 0 if unknown.
type partly interface{ Part() float64 }

// Decode reads what [History.Encode] wrote. It is strict. Each of these is an [*InvalidError]: an
// unknown field, a header of another format, a repeated key, null, and invalid UTF-8. So
// is a line of more than 16 MiB, events of more than 4 GiB, a truncated line, and a
// missing end. [DecodeCutOff] accepts the last two. Decode returns errors of r unchanged.
// It checks the shape; [History.Validate] checks the events together. If r has a method Part()
// float64, the part that was read so far, Decode allocates a long history at once.
func Decode(r io.Reader) (*History, error) { return decode(r, (*decoder).decodeEvents) }

// buffers are for the next histories of a command that reads hundreds.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, bufferSize) }}

func decode(r io.Reader, rest func(*decoder) (*History, error)) (*History, error) {
	buffer := buffers.Get().(*bufio.Reader)
	buffer.Reset(r)
	defer func() {
		buffer.Reset(nil)
		buffers.Put(buffer)
	}()
	d, err := newDecoder(r, buffer)
	if err != nil {
		return nil, err
	}
	return rest(d)
}

// DecodeWithoutServerLog reads what [Decode] reads, but for the events of kind
// [Server]. It does not check those.
func DecodeWithoutServerLog(r io.Reader) (*History, error) {
	return decode(r, func(d *decoder) (*History, error) {
		d.noLog = true
		return d.decodeEvents()
	})
}

// Hash is the SHA-256 of the encoded history, in hex.
func (h *History) Hash() string {
	sum := sha256.New()
	if err := h.Encode(sum); err != nil {
		panic(err) // a hash never fails to write, and every field encodes
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// decodeEvents reads everything after the header.
func (d *decoder) decodeEvents() (*History, error) {
	h := &History{Header: d.header}
	for {
		raw, err := d.readLine()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return nil, err
		}
		if d.noLog && ofServer(raw) {
			d.ended = false
			continue
		}
		if d.room -= int64(unsafe.Sizeof(Event{})) + int64(len(raw)); d.room < 0 {
			return nil, d.invalidf("the history takes more than %d MiB of memory; this version reads no longer ones", maxMemory>>20)
		}
		var e *Event
		h.Events, e = d.grow(h.Events)
		if err := d.decodeEvent(raw, e); err != nil {
			return nil, err
		}
		if d.noLog && e.Kind == Server { // written in another way than by Encode
			h.Events = h.Events[:len(h.Events)-1]
		}
	}
}

// ofServer reports whether a line that [History.Encode] wrote has an event of kind [Server].
func ofServer(raw []byte) bool {
	_, after, found := bytes.Cut(raw[:min(len(raw), len(serverEvent)+len(`{"t":-9223372036854775808,`))], []byte(`,`))
	return found && bytes.HasPrefix(after, serverEvent)
}

var serverEvent = []byte(`"kind":"server",`)

// Bounds of what a history from elsewhere may cost to read.
const (
	maxLine   = 16 << 20 // bytes of a line
	maxMemory = 4 << 30  // bytes that all events may take, as decodeEvents counts them
)

var errLongLine = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

type lineReader struct {
	*bufio.Reader
	long []byte
}

// readLine reads up to the next newline. The next call overwrites the result. The
// error is errLongLine if no newline is in reach.
func (b *lineReader) readLine() ([]byte, error) {
	raw, err := b.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return raw, err
	}
	b.long = append(b.long[:0], raw...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(b.long) > maxLine {
			return nil, errLongLine
		}
		raw, err = b.ReadSlice('\n')
		b.long = append(b.long, raw...)
	}
	return b.long, err
}

// grow makes room for one more event, and returns it, empty. It doubles the room, because
// unused room takes no memory, and each growth needs the old room twice. If the length of
// the history is known, more soon makes room for the rest at once.
func (d *decoder) grow(events []Event) ([]Event, *Event) {
	n := len(events)
	if n == cap(events) {
		size := max(2*n, 64)
		if d.part != nil && n >= enough {
			if part := d.part.Part(); part > 0 {
				size = n + int(min(max(1.05*float64(n)/part-float64(n), float64(n)/8), float64(d.room)/float64(unsafe.Sizeof(Event{}))+1))
			}
		}
		events = append(make([]Event, 0, size), events...)
	}
	events = events[:n+1]
	return events, &events[n]
}

// enough is the number of events from which their total can be estimated.
const enough = 1 << 18

// strict reads exactly one JSON object from a line, and guesses nothing.
func strict(raw []byte, v any) error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("not a JSON object")
	}
	return input.JSON{}.Unmarshal(raw, v)
}

// plainJSON puts an error of the JSON package in a user's words.
func plainJSON(err error) string {
	var syntax *v1.SyntaxError
	var kind *v1.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return "not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
	case errors.As(err, &kind):
		return fmt.Sprintf("field %q cannot be a %s", kind.Field, kind.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
