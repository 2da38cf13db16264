package resp

import (
	"bufio"
	"errors"
	"fmt"
)

func ReadRequest(in *bufio.Reader) ([]string, error) {
	frame, err := readFrame(in)
	if err != nil {
		return nil, err
	}
	return ParseRequest(frame)
}

// ParseRequest reads a command with its arguments: an array of strings that is
// not empty.
func ParseRequest(frame []byte) ([]string, error) {
	v, err := Parse(frame)
	if err != nil {
		return nil, err
	}
	if v.Kind != '*' || len(v.Items) == 0 {
		return nil, errors.New("parse request: it is no array, or an empty one")
	}
	args := make([]string, len(v.Items))
	for i, item := range v.Items {
		if item.Kind != '$' || item.Null {
			return nil, fmt.Errorf("parse request: argument %d is no string", i)
		}
		args[i] = item.Text
	}
	return args, nil
}

// AppendRequest appends a command with its arguments to b.
func AppendRequest(b []byte, args ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
