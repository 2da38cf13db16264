// Package resp reads and writes RESP, the protocol between Redis' clients and servers, in
// versions 2 and 3. It has three views of a stream:
//
//   - [Splitter] cuts it into frames while it arrives, and [ParseHead] says how
//     a frame begins;
//   - [Parse] and [Read] turn a whole frame into a [Value];
//   - [ParseRequest], [ReadRequest] and [AppendRequest] deal with commands.
package resp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Value is an element of RESP.
type Value struct {
	Kind  byte    // the first byte on the wire: '$' a string, '>' a push
	Null  bool    // it is one of the three nulls: "$-1", "*-1", "_"
	Text  string  // of a string, an error, a number or a boolean
	Items []Value // of an array, a set or a push; a map's keys and values in turn
}

type Error string

func (e Error) Error() string { return string(e) }

// Err returns the [Error] that the value is, or nil.
func (v Value) Err() error {
	if v.Kind == '-' || v.Kind == '!' {
		return Error(v.Text)
	}
	return nil
}

// Read reads one value. It takes no more from in than that.
func Read(in *bufio.Reader) (Value, error) {
	frame, err := readFrame(in)
	if err != nil {
		return Value{}, err
	}
	return Parse(frame)
}

// Parse reads the one value that a frame consists of. It skips attributes.
func Parse(frame []byte) (Value, error) {
	v, rest, err := parse(string(frame))
	if err == nil && rest != "" {
		err = fmt.Errorf("parse RESP: %.40q follows the value", rest)
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

func parse(s string) (v Value, rest string, err error) {
	line, rest, ok := strings.Cut(s, "\r\n")
	if !ok {
		return v, "", fmt.Errorf("parse RESP: %w", io.ErrUnexpectedEOF)
	}
	if line == "" {
		return v, "", fmt.Errorf("parse RESP: an empty line")
	}
	v.Kind, v.Text = line[0], line[1:]
	body, items, ok := follows(v.Kind, v.Text)
	switch {
	case !ok:
		return v, "", fmt.Errorf("parse RESP: %.40q begins no element", line)
	case body > len(rest):
		return v, "", fmt.Errorf("parse RESP: %w", io.ErrUnexpectedEOF)
	case body > 0:
		if rest[body-2:body] != "\r\n" {
			return v, "", fmt.Errorf("parse RESP: no line ends after a string of %s bytes", v.Text)
		}
		v.Text = rest[:body-2]
		return v, rest[body:], nil
	}
	switch v.Kind {
	case '+', '-', ':', '#', ',', '(':
		return v, rest, nil
	}
	v.Null = v.Kind == '_' || v.Text == "-1"
	v.Text = ""
	if items > 0 {
		v.Items = make([]Value, 0, min(items, len(rest)/len("_\r\n")))
	}
	for range items {
		var item Value
		if item, rest, err = parse(rest); err != nil {
			return v, "", err
		}
		v.Items = append(v.Items, item)
	}
	if v.Kind == '|' {
		v = v.Items[items-1]
	}
	return v, rest, nil
}

// Head is the beginning of a frame.
type Head struct {
	Kind  byte
	Len   int    // how many items an array or a push has
	First string // the text of the first one, unless it is long
}

// maxHead is the number of bytes of a frame that count as its head: more than the head of
// any subscription or message has.
const maxHead = 64

// ParseHead reads the head of a frame that may be incomplete. known is false
// when it takes more bytes to tell.
func ParseHead(frame []byte) (h Head, known bool) {
	frame = frame[:min(len(frame), maxHead)]
	if h.Kind = frame[0]; h.Kind != '*' && h.Kind != '>' {
		return h, true
	}
	line, rest, known := bytes.Cut(frame, []byte("\r\n"))
	if known {
		_, h.Len, _ = follows(h.Kind, line[1:])
	}
	if h.Len > 0 {
		first, _, err := parse(string(rest))
		if known = err == nil; known {
			h.First = first.Text
		}
	}
	return h, known || len(frame) == maxHead
}
