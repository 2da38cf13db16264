package resp

// Splitter cuts a stream into top-level frames, however it is fragmented. It
// passes the bytes of kept frames on at once. It withholds taken frames until
// they are whole. The zero value takes every frame. Not for concurrent use.
type Splitter struct {
	// Decide gets what is known of a frame until its verdict is no longer
	// [Undecided]. A frame that ends undecided is kept.
	Decide func(head []byte) Verdict

	scanner scanner
	verdict Verdict
	begun   []byte // of a frame that is not kept
}

type Verdict int

const (
	Undecided Verdict = iota
	Keep              // the frame stays in the stream
	Take              // the frame comes out whole
)

// Piece is a part of the stream: a whole frame that was taken, or bytes of
// frames that were kept.
type Piece struct {
	Data  []byte
	Taken bool
}

// Split returns what data makes known of the stream, in order. All pieces and
// [Splitter.Rest], put together, are the stream.
func (s *Splitter) Split(data []byte) []Piece {
	var out []Piece
	for len(data) > 0 {
		n, done := s.scanner.advance(data)
		part := data[:n]
		data = data[n:]
		if s.verdict == Keep {
			out = keep(out, part)
		} else {
			s.begun = append(s.begun, part...)
			if s.verdict == Undecided {
				s.verdict = s.decide()
			}
			switch {
			case done && s.verdict == Take:
				out = append(out, Piece{s.begun, true})
				s.begun = nil
			case done || s.verdict == Keep:
				out = keep(out, s.begun)
				s.begun = nil
			}
		}
		if done {
			s.verdict = Undecided
		}
	}
	return out
}

func (s *Splitter) decide() Verdict {
	if s.Decide == nil {
		return Take
	}
	return s.Decide(s.begun)
}

// keep appends bytes of kept frames, which need no borders between them.
func keep(out []Piece, b []byte) []Piece {
	if n := len(out); n > 0 && !out[n-1].Taken {
		out[n-1].Data = append(out[n-1].Data, b...)
		return out
	}
	return append(out, Piece{Data: append([]byte(nil), b...)})
}

// Rest returns the withheld bytes of an unfinished frame, and forgets them.
// The splitter keeps the remainder of that frame in the stream.
func (s *Splitter) Rest() []byte {
	b := s.begun
	s.begun = nil
	if len(b) > 0 {
		s.verdict = Keep
	}
	return b
}
