package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
)

// The command refuses a hostile file as bad input before it uses much memory,
// with a message that fits on a screen.
func TestHostileFilesAreRefused(t *testing.T) {
	header := fmt.Sprintf(`{"format":%q,"scenario":"s","lock":"l","world":"sim","seed":1,"version":"v","claims":{}}`+"\n", history.Format)
	line := `{"t":0,"kind":"log","log":{"server":"node-1","text":"` + strings.Repeat("x", 100) + `"}}` + "\n"
	brackets := strings.Repeat("[", 200_000)
	for _, tt := range []struct {
		name, file string
		args       []string
		write      func(io.Writer)
		want       string
	}{
		{"a gzip bomb of lines", "h.jsonl.gz", []string{"check"}, zipped(header, line, 1_000_000), "it swells to more than 200 times its size"},
		{"a gzip bomb of one line", "h.jsonl.gz", []string{"check"}, zipped(header, strings.Repeat("\x00", 1<<20), 100), "line 2 (event 1): the line is longer than 16 MiB"},
		{"a line of 100 MB", "h.jsonl", []string{"check"}, repeated(header, strings.Repeat("x", 1<<20), 100), "line 2 (event 1): the line is longer than 16 MiB"},
		{"a first line of 100 MB", "h.jsonl", []string{"check"}, repeated("", strings.Repeat("x", 1<<20), 100), "line 1: the line is longer than 16 MiB"},
		{"brackets for a history", "h.jsonl", []string{"check"}, repeated(brackets, "\n", 1), "the first line is not a JSON object"},
		{"brackets in a history", "h.jsonl", []string{"check"}, repeated(header+`{"args":`, brackets, 1), "cut off"},
		{"brackets in a whole line", "h.jsonl", []string{"check"}, repeated(header+`{"args":`, brackets+"\n", 1), "not JSON"},
		{"a long key", "h.jsonl", []string{"check"}, repeated(header+`{"`+strings.Repeat("k\u202e", 50_000), `":1}`+"\n", 1), "unknown field"},
		{"brackets for a scenario", "s.yaml", []string{"run", "--lock", "reentrant"}, repeated("", brackets, 1), "it is too long"},
		{"brackets as short as a scenario", "s.yaml", []string{"run", "--lock", "reentrant"}, repeated("", brackets[:60_000], 1), "nested more than 50 deep"},
		{"keys in brackets", "s.yaml", []string{"run", "--lock", "reentrant"}, repeated("", "{a: ", 15_000), "nested more than 50 deep"},
		{"dashes", "s.yaml", []string{"run", "--lock", "reentrant"}, repeated("", "- ", 30_000), "nested more than 50 deep"},
		{"aliases of aliases", "s.yaml", []string{"run", "--lock", "reentrant"}, repeated(laughs(), "", 1), "unknown key"},
		{"a key that is a page long", "s.yaml", []string{"run", "--lock", "reentrant"}, repeated(strings.Repeat("k", 50_000), ": 1\n", 1), "unknown key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			f, err := os.Create(path)
			must.Succeed(t, err)
			w := bufio.NewWriter(f)
			tt.write(w)
			must.Succeed(t, w.Flush())
			f.Close()
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var stdout, stderr strings.Builder
			code := run(ctx, append(tt.args, path), strings.NewReader(""), &stdout, &stderr)
			runtime.ReadMemStats(&after)
			if code != exitUsage || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("exit %d, want %d and %q: %.400s", code, exitUsage, tt.want, stderr.String())
			}
			if most := 1_000 + 3*len(path); stderr.Len() > most {
				t.Errorf("the message has %d bytes", stderr.Len())
			}
			if mb := (after.Sys - before.Sys) >> 20; mb > 500 {
				t.Errorf("it took %d MB of memory", mb)
			}
		})
	}
}

func repeated(head, what string, times int) func(io.Writer) {
	return func(w io.Writer) {
		io.WriteString(w, head)
		for range times {
			io.WriteString(w, what)
		}
	}
}

func zipped(head, what string, times int) func(io.Writer) {
	return func(w io.Writer) {
		z := gzip.NewWriter(w)
		repeated(head, what, times)(z)
		z.Close()
	}
}

// laughs is a list that would have ten billion entries after the expansion of all
// aliases.
func laughs() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i <= 10; i++ {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	return text
}
