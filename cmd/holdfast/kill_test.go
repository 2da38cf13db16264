package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// killer precedes the output of a worker process. In the middle of the answer for
// a seed it sends SIGKILL to its own process, or to its parent. With a file as
// its memory, it does so only once.
type killer struct {
	to   io.Writer
	who  string // worker or parent
	seed string
	mark string // or - for every time
}

// killing is the writer of a worker. HOLDFAST_TEST_KILL="WHO SEED FILE" asks for
// a [killer].
func killing(stdout io.Writer) io.Writer {
	words := strings.Fields(os.Getenv("HOLDFAST_TEST_KILL"))
	if len(words) != 3 || len(os.Args) < 2 || os.Args[1] != "worker" {
		return stdout
	}
	return killer{stdout, words[0], words[1], words[2]}
}

// Write implements io.Writer; an answer is one write.
func (k killer) Write(b []byte) (int, error) {
	if !bytes.Contains(b, fmt.Appendf(nil, `"seed":%s,`, k.seed)) || !k.first() {
		return k.to.Write(b)
	}
	pid := os.Getpid()
	if k.who == "parent" {
		pid = os.Getppid()
	}
	k.to.Write(b[:len(b)/2])
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		return 0, err
	}
	if k.who == "parent" {
		return 0, io.ErrClosedPipe // the parent is gone; the worker ends
	}
	select {} // until the signal arrives
}

func (k killer) first() bool {
	if k.mark == "-" {
		return true
	}
	f, err := os.OpenFile(k.mark, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// scriptSame compares two JSON documents: same [-but KEY] FILE FILE. It ignores
// wall_ms, the date of results, and the key, at any depth.
func scriptSame(ts *testscript.TestScript, neg bool, args []string) {
	but := []string{"wall_ms", "date"}
	for len(args) > 2 && args[0] == "-but" {
		but, args = append(but, args[1]), args[2:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same [-but KEY] FILE FILE")
	}
	var docs [2]any
	for i, name := range args {
		if err := json.Unmarshal([]byte(ts.ReadFile(name)), &docs[i]); err != nil {
			ts.Fatalf("%s: %v", name, err)
		}
		for _, key := range but {
			without(docs[i], key)
		}
	}
	if diff := cmp.Diff(docs[0], docs[1]); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}

// without removes a key from all objects of a document.
func without(doc any, key string) {
	switch doc := doc.(type) {
	case map[string]any:
		delete(doc, key)
		for _, v := range doc {
			without(v, key)
		}
	case []any:
		for _, v := range doc {
			without(v, key)
		}
	}
}
