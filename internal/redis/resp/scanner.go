package resp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// maxLen is the largest length that the parser believes: Redis' own limit.
const maxLen = 512 << 20

// follows says what the header of an element announces: the bytes of a string
// with its CRLF, or a number of elements. A null announces nothing.
func follows[T string | []byte](kind byte, text T) (body, items int, ok bool) {
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return 0, 0, true
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < -1 || n > maxLen {
		return 0, 0, false
	}
	switch kind {
	case '$', '!', '=':
		if n < 0 {
			return 0, 0, true
		}
		return n + 2, 0, true
	case '*', '~', '>':
		return 0, max(n, 0), true
	case '%':
		return 0, 2 * max(n, 0), true
	case '|': // attributes come before the element that they describe
		return 0, 2*max(n, 0) + 1, true
	}
	return 0, 0, false
}

// scanner finds where a frame ends, in a stream that arrives in fragments. A
// line that is no RESP counts as an element, so that the scanner finds its way
// back to frames.
type scanner struct {
	missing int    // elements that the frame still lacks; 0 between frames
	body    int    // bytes that the current string still lacks
	line    []byte // the start of a header line that is incomplete
}

// advance returns how many bytes of data belong to the current frame, and
// whether the frame ends there.
func (s *scanner) advance(data []byte) (n int, done bool) {
	s.missing = max(s.missing, 1)
	for n < len(data) && s.missing > 0 {
		if s.body > 0 {
			part := min(s.body, len(data)-n)
			s.body -= part
			n += part
			if s.body == 0 {
				s.missing--
			}
			continue
		}
		end := bytes.IndexByte(data[n:], '\n') + 1
		if end == 0 {
			s.line = append(s.line, data[n:]...)
			return len(data), false
		}
		line := data[n : n+end]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		items := 0
		s.body, items, _ = follows(line[0], bytes.TrimRight(line[1:], "\r\n"))
		if s.body == 0 {
			s.missing += items - 1
		}
		s.line = s.line[:0]
		n += end
	}
	return n, s.missing == 0
}

// readFrame reads one whole frame. Its memory grows with what arrives, not with
// what a header announces.
func readFrame(in *bufio.Reader) (frame []byte, err error) {
	for s := (scanner{}); ; {
		if _, err := in.Peek(1); err != nil {
			if len(frame) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		data, _ := in.Peek(in.Buffered())
		n, done := s.advance(data)
		frame = append(frame, data[:n]...)
		in.Discard(n)
		if done {
			return frame, nil
		}
	}
}
