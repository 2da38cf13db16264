package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-go/holdfast/checker"
)

// readHistory reads a stored history, gzipped or not.
func readHistory(path string) (*checker.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeHistory(path, f)
}

// decodeHistory reads a history from r; name is for errors.
func decodeHistory(name string, r io.Reader) (*checker.History, error) {
	in := bufio.NewReader(r)
	var src io.Reader = in
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer z.Close()
		src = z
	}
	h, err := checker.Decode(src)
	if err != nil {
		var invalid *checker.InvalidError
		if errors.As(err, &invalid) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return h, nil
}
