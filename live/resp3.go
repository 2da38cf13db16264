package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// pushed is a RESP3 push: what a server sends without being asked.
type pushed []any

// respError is an error that a server answers.
type respError string

func (e respError) Error() string { return string(e) }

// readRESP reads one reply or push of RESP3. Strings, errors, integers and
// arrays keep their kind; a map is the array of its keys and values, and any
// other scalar is its text.
func readRESP(in *bufio.Reader) (any, error) {
	kind, text, err := respHeader(in)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+', ',', '#', '(':
		return text, nil
	case '-':
		return respError(text), nil
	case '_':
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("read a reply: %q is no number", text)
	}
	switch kind {
	case ':':
		return n, nil
	case '$', '=', '!':
		return respBulk(in, n)
	case '*', '~':
		return respItems(in, n)
	case '>':
		items, err := respItems(in, n)
		return pushed(items), err
	case '%':
		return respItems(in, 2*n)
	}
	return nil, fmt.Errorf("read a reply: it begins with %q", kind)
}

func respHeader(in *bufio.Reader) (kind byte, text string, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, "", err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, "", fmt.Errorf("read a reply: %q is none", line)
	}
	return line[0], line[1 : len(line)-2], nil
}

// maxRESP is the longest string and array that is believed.
const maxRESP = 512 << 20

func respBulk(in *bufio.Reader, n int) (any, error) {
	if n < 0 {
		return nil, nil
	}
	if n > maxRESP {
		return nil, errors.New("read a reply: it is too long")
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

func respItems(in *bufio.Reader, n int) ([]any, error) {
	if n > maxRESP {
		return nil, errors.New("read a reply: it is too long")
	}
	var items []any
	for range n {
		x, err := readRESP(in)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	return items, nil
}

// appendRequest writes a command.
func appendRequest(b []byte, args ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
