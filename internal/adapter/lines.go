package adapter

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

var errTooLong = fmt.Errorf("a line is longer than %d bytes", maxLine)

// lines reads messages line by line; empty lines are no messages.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, maxLine)} }

// next returns the next line, which is valid until the one after it is read.
// With errTooLong it returns how the line begins; a line that is cut off by
// the end is an io.ErrUnexpectedEOF.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return line, errTooLong
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if n := len(line) - 1; n > 0 && string(line) != "\r\n" {
			return line[:n], nil
		}
	}
}

// printer writes messages as lines, one at a time. Once that has failed it
// writes no more: what came after a line that is cut off could not be read.
type printer struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (p *printer) print(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		_, p.err = p.w.Write(append(line, '\n'))
	}
	return p.err
}
