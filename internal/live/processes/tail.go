package processes

import (
	"strings"
	"sync"
)

// mostTail is the kept part of a process' standard error, in bytes.
const mostTail = 64 << 10

// tail keeps the end of its input. It may be read meanwhile.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool // something before buf is gone
}

// Write implements io.Writer, and never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*mostTail { // not at every write, which would copy it all
		t.buf, t.cut = append([]byte(nil), t.buf[len(t.buf)-mostTail:]...), true
	}
	return len(b), nil
}

// String is the end of the input, from the start of a line if something was
// dropped.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.buf, t.cut
	if len(b) > mostTail {
		b, cut = b[len(b)-mostTail:], true
	}
	s := string(b)
	if _, rest, ok := strings.Cut(s, "\n"); cut && ok {
		s = rest
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "?"))
}
