package history

import (
	"encoding/binary"
	"unicode/utf8"
)

// plainReader reads events in the form in which encode writes them. They have no space,
// no field twice, no escape in a string, and no number beyond 18 digits. It is many times
// faster than the JSON package, and allocates few objects. It keeps repeated strings
// once, and takes arguments, results and changes from blocks.
//
// The JSON package reads every accepted line to the same event. A refused line may
// still be right: the JSON package decides, and reports every error.
type plainReader struct {
	seen    map[string]string
	recent  [1 << recentBits]string // of those, one for each hash
	args    []Args
	results []Result
	servers []ServerEvent

	line []byte
	at   int
}

// Bounds of what is kept once, and how many objects a block has.
const (
	seenStrings = 1 << 16
	seenLength  = 64
	recentBits  = 10
	blockSize   = 1 << 10
)

func newPlainReader() *plainReader { return &plainReader{seen: map[string]string{}} }

// event reads a line, its newline included. When it says false, e is undefined.
func (p *plainReader) event(line []byte, e *Event) bool {
	p.line, p.at = line, 0
	ok := p.object(func(key []byte) (field uint, ok bool) {
		switch string(key) {
		case "t":
			return 0, p.int(&e.Time)
		case "kind":
			return 1, p.text((*string)(&e.Kind))
		case "op":
			return 2, p.int(&e.Op)
		case "f":
			return 3, p.text((*string)(&e.F))
		case "client":
			return 4, p.text(&e.Client)
		case "owner":
			return 5, p.text(&e.Owner)
		case "lock":
			return 6, p.text(&e.Lock)
		case "args":
			e.Args = next(&p.args)
			return 7, p.readArgs(e.Args)
		case "result":
			e.Result = next(&p.results)
			return 8, p.readResult(e.Result)
		case "server":
			e.Server = next(&p.servers)
			return 9, p.readServer(e.Server)
		case "log":
			e.Log = new(LogEvent)
			return 10, p.readLog(e.Log)
		}
		return 0, false // the others are rare
	})
	return ok && p.at == len(line)-1 && line[p.at] == '\n'
}

// next takes an object from a block. A block is never used twice.
func next[T any](block *[]T) *T {
	if len(*block) == cap(*block) {
		*block = make([]T, 0, min(max(2*cap(*block), 16), blockSize)) // most histories are short
	}
	*block = (*block)[:len(*block)+1]
	return &(*block)[len(*block)-1]
}

func (p *plainReader) readArgs(a *Args) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "lease":
			return 0, p.int(&a.Lease)
		case "renewed":
			return 1, p.bool(&a.Renewed)
		case "wait":
			return 2, p.int(&a.Wait)
		case "value":
			return 3, p.int(&a.Value)
		case "base":
			return 4, p.int(&a.Base)
		case "token":
			return 5, p.uint(&a.Token)
		case "mode":
			return 6, p.text((*string)(&a.Mode))
		case "permits":
			return 7, p.count(&a.Permits)
		}
		return 0, false
	})
}

func (p *plainReader) readResult(r *Result) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "count":
			return 0, p.count(&r.Count)
		case "token":
			return 1, p.uint(&r.Token)
		case "value":
			return 2, p.int(&r.Value)
		case "error":
			return 3, p.text(&r.Error)
		case "message":
			return 4, p.text(&r.Message)
		case "until":
			return 5, p.int(&r.Until)
		}
		return 0, false
	})
}

func (p *plainReader) readServer(s *ServerEvent) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "node":
			return 0, p.text(&s.Node)
		case "role":
			return 1, p.text(&s.Role)
		case "key":
			return 2, p.text(&s.Key)
		case "cause":
			return 3, p.text(&s.Cause)
		case "command":
			return 4, p.text(&s.Command)
		case "by":
			return 5, p.text(&s.By)
		case "holder":
			return 6, p.text(&s.Holder)
		case "count":
			return 7, p.count(&s.Count)
		case "was_holder":
			return 8, p.text(&s.WasHolder)
		case "was_count":
			return 9, p.count(&s.WasCount)
		case "ttl":
			return 10, p.int(&s.TTL)
		case "was_ttl":
			return 11, p.int(&s.WasTTL)
		}
		return 0, false
	})
}

func (p *plainReader) readLog(l *LogEvent) bool {
	return p.object(func(key []byte) (uint, bool) {
		switch string(key) {
		case "server":
			return 0, p.text(&l.Server)
		case "text":
			return 1, p.text(&l.Text)
		}
		return 0, false
	})
}

// object reads {"key":value,...}. value reads what follows a key and numbers
// the field, so that none comes twice.
func (p *plainReader) object(value func(key []byte) (field uint, ok bool)) bool {
	if !p.byte('{') {
		return false
	}
	if p.byte('}') {
		return true
	}
	for had := uint(0); ; {
		key, ok := p.key()
		if !ok || !p.byte(':') {
			return false
		}
		field, ok := value(key)
		if !ok || had&(1<<field) != 0 {
			return false
		}
		had |= 1 << field
		if p.byte('}') {
			return true
		}
		if !p.byte(',') {
			return false
		}
	}
}

func (p *plainReader) byte(b byte) bool {
	if p.at < len(p.line) && p.line[p.at] == b {
		p.at++
		return true
	}
	return false
}

// key reads a string in quotes. One with an escape is no key of ours.
func (p *plainReader) key() ([]byte, bool) {
	if !p.byte('"') {
		return nil, false
	}
	for i := p.at; i < len(p.line); i++ {
		if p.line[i] == '"' {
			key := p.line[p.at:i]
			p.at = i + 1
			return key, true
		}
	}
	return nil, false
}

// These are the classes of a byte in quotes; 0 is an ordinary byte.
const (
	endsText = 1 << iota
	notPlain // an escape, or a byte that has to be one
	notASCII
)

var textBytes = func() (special [256]uint8) {
	for b := range special {
		switch {
		case b == '"':
			special[b] = endsText
		case b == '\\' || b < ' ':
			special[b] = notPlain
		case b >= utf8.RuneSelf:
			special[b] = notASCII
		}
	}
	return special
}()

// quoted reads a string in quotes that stands for itself.
func (p *plainReader) quoted() ([]byte, bool) {
	if !p.byte('"') {
		return nil, false
	}
	var had uint8
	for i := p.at; i < len(p.line); i++ {
		special := textBytes[p.line[i]]
		if special == 0 {
			continue
		}
		if had |= special; special == notPlain {
			return nil, false
		}
		if special == endsText {
			s := p.line[p.at:i]
			p.at = i + 1
			return s, had&notASCII == 0 || utf8.Valid(s)
		}
	}
	return nil, false
}

func (p *plainReader) text(s *string) bool {
	b, ok := p.quoted()
	if !ok {
		return false
	}
	recent := &p.recent[p.hash(len(b))]
	if *recent == string(b) {
		*s = *recent
		return true
	}
	kept, ok := p.seen[string(b)]
	if !ok {
		kept = string(b)
		if len(b) > seenLength || len(p.seen) >= seenStrings {
			*s = kept
			return true
		}
		p.seen[kept] = kept
	}
	*s, *recent = kept, kept
	return true
}

// hash is one of the length and the last eight bytes of the string that was just
// read in quotes.
func (p *plainReader) hash(n int) uint64 {
	end := p.at - 1
	if end < 8 {
		return 0
	}
	last := binary.LittleEndian.Uint64(p.line[end-8:])
	if n < 8 {
		last >>= 8 * (8 - n) // a shift by 64 leaves nothing
	}
	return (last + uint64(n)) * 0x9e3779b97f4a7c15 >> (64 - recentBits)
}

// uint reads a number that surely fits.
func (p *plainReader) uint(n *uint64) bool {
	from := p.at
	var x uint64
	for ; p.at < len(p.line) && p.line[p.at]-'0' <= 9; p.at++ {
		x = 10*x + uint64(p.line[p.at]-'0')
	}
	digits := p.at - from
	*n = x
	return digits == 1 || digits > 1 && digits <= 18 && p.line[from] != '0'
}

func (p *plainReader) int(n *int64) bool {
	minus := p.byte('-')
	var x uint64
	ok := p.uint(&x)
	if *n = int64(x); minus {
		*n = -*n
	}
	return ok
}

func (p *plainReader) count(n *int) bool {
	var x int64
	ok := p.int(&x)
	*n = int(x)
	return ok && int64(*n) == x
}

func (p *plainReader) bool(b *bool) bool {
	for _, word := range [...]string{"true", "false"} {
		if rest := p.line[p.at:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			p.at += len(word)
			*b = word == "true"
			return true
		}
	}
	return false
}
