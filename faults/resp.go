package faults

import (
	"bytes"
	"strconv"
)

// splitter cuts a RESP stream, versions 2 and 3, into top-level frames,
// however it is fragmented. It asks decide, as soon as a frame's head can tell,
// whether to take the frame or to keep it in the stream; bytes of kept frames
// go on at once, taken frames are gathered and come out whole.
type splitter struct {
	decide func(head []byte) verdict // asked until it is no longer undecided

	verdict verdict
	missing int    // elements the frame still lacks; 0 between frames
	body    int    // bytes that the current string still lacks, CRLF included
	line    []byte // the current header line so far
	frame   []byte // what is held back of the current frame
}

type verdict int

const (
	undecided verdict = iota
	keep
	take
)

// piece is a part of the stream: a whole frame that was taken, or bytes of
// frames that were not.
type piece struct {
	data  []byte
	taken bool
}

// split returns what is known of the stream after data, in order. The pieces
// that were kept and those taken, put together, are the stream.
func (s *splitter) split(data []byte) []piece {
	var out []piece
	emit := func(b []byte, taken bool) {
		if n := len(out); !taken && n > 0 && !out[n-1].taken {
			out[n-1].data = append(out[n-1].data, b...)
			return
		}
		out = append(out, piece{append([]byte(nil), b...), taken})
	}
	for len(data) > 0 {
		if s.missing == 0 {
			s.missing, s.verdict = 1, undecided
		}
		n := s.advance(data)
		part := data[:n]
		data = data[n:]
		if s.verdict == keep {
			emit(part, false)
			continue
		}
		s.frame = append(s.frame, part...)
		if s.verdict == undecided {
			s.verdict = s.decide(s.frame)
		}
		done := s.missing == 0
		if s.verdict == keep || done {
			emit(s.frame, s.verdict == take)
			s.frame = nil
		}
	}
	return out
}

// rest returns the bytes held back of an unfinished frame, and forgets them.
func (s *splitter) rest() []byte {
	b := s.frame
	s.frame = nil
	if s.missing > 0 {
		s.verdict = keep
	}
	return b
}

// advance moves to the end of the current header line or string, or as far as
// data goes, and returns how many bytes that was.
func (s *splitter) advance(data []byte) int {
	if s.body > 0 {
		n := min(s.body, len(data))
		s.body -= n
		if s.body == 0 {
			s.missing--
		}
		return n
	}
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		s.line = append(s.line, data...)
		return len(data)
	}
	s.line = append(s.line, data[:end+1]...)
	s.header(s.line)
	s.line = s.line[:0]
	return end + 1
}

// header reads a whole header line: what it announces is still missing. A line
// that is not RESP counts as an element, so that the splitter finds its way
// back to frames.
func (s *splitter) header(line []byte) {
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if err != nil || n < 0 || n > 1<<40 {
		n = -1
	}
	switch kind := line[0]; {
	case n >= 0 && (kind == '$' || kind == '!' || kind == '='):
		s.body = n + 2
		return
	case n > 0 && (kind == '*' || kind == '~' || kind == '>'):
		s.missing += n
	case n > 0 && kind == '%':
		s.missing += 2 * n
	case n > 0 && kind == '|': // attributes come before the element they belong to
		s.missing += 2*n + 1
	}
	s.missing--
}

// Frames cuts a RESP stream into whole top-level frames, however it is
// fragmented. The zero value is ready. Put together, what Split returned and
// Rest are the stream. Not for concurrent use.
type Frames struct{ s splitter }

// Split returns the frames that data completes, in order.
func (f *Frames) Split(data []byte) [][]byte {
	if f.s.decide == nil {
		f.s.decide = func([]byte) verdict { return take }
	}
	var whole [][]byte
	for _, p := range f.s.split(data) {
		whole = append(whole, p.data)
	}
	return whole
}

// Rest returns the bytes of an unfinished frame.
func (f *Frames) Rest() []byte { return f.s.rest() }
