package faults

import (
	"bytes"
	"slices"
	"testing"
)

// A world tells requests and replies apart by whole frames; a fragment must
// not pass for one, and two in one packet not for one.
func TestFramesAreWholeHoweverTheyArrive(t *testing.T) {
	want := []string{
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "+OK\r\n", "$-1\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n*1\r\n", "_\r\n",
		"%1\r\n+a\r\n:1\r\n", "*0\r\n",
	}
	var in []byte
	for _, f := range want {
		in = append(in, f...)
	}
	for size := 1; size <= len(in); size++ {
		var f Frames
		var got []string
		for part := range slices.Chunk(in, size) {
			for _, frame := range f.Split(part) {
				got = append(got, string(frame))
			}
		}
		if !slices.Equal(got, want) || len(f.Rest()) > 0 {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
	var f Frames
	if got := f.Split([]byte("+OK\r\n*1\r\n$4\r\nPI")); len(got) != 1 || !bytes.Equal(f.Rest(), []byte("*1\r\n$4\r\nPI")) {
		t.Errorf("got %q", got)
	}
}
