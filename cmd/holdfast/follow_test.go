package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

const (
	followHeader = `{"format":"holdfast-history/1","scenario":"soak","lock":"mine","world":"live","seed":7,"version":"x","claims":{}}` + "\n"
	followGrant1 = `{"t":1,"kind":"invoke","op":1,"f":"acquire","client":"client-1","owner":"client-1/1","lock":"stock","args":{}}` + "\n" +
		`{"t":2000000,"kind":"ok","op":1,"f":"acquire","client":"client-1","owner":"client-1/1","lock":"stock","result":{"count":1}}` + "\n"
	followGrant2 = `{"t":3000000,"kind":"invoke","op":2,"f":"acquire","client":"client-2","owner":"client-2/1","lock":"stock","args":{}}` + "\n" +
		`{"t":4000000,"kind":"ok","op":2,"f":"acquire","client":"client-2","owner":"client-2/1","lock":"stock","result":{"count":1}}` + "\n"
	followLater = `{"t":5000000,"kind":"invoke","op":3,"f":"release","client":"client-1","owner":"client-1/1","lock":"stock"}` + "\n"
)

// The command stops at the first violation of an endless run.
func TestFollowStopsAtTheViolation(t *testing.T) {
	in, run1 := io.Pipe()
	go io.WriteString(run1, followHeader+followGrant1+followGrant2+followLater) // and never closed
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"check", "--follow", "-"}, in, &stdout, &stderr)
	if code != exitUnexpected || stderr.Len() > 0 {
		t.Fatalf("exit %d, stderr %q", code, &stderr)
	}
	want := `stdin: soak with mine, seed 7, live world
  linearizable  violated  no order of the operations allows this at 0.004 s: client-2/1: acquire, count 1; client-1/1: acquire, count 1, called at 0.000 s; operations 2, 1
  after 5 events, at 0.005 s
`
	if stdout.String() != want {
		t.Errorf("got\n%swant\n%s", &stdout, want)
	}
}

// After Ctrl-C, the command ends and reports its progress.
func TestFollowInterrupted(t *testing.T) {
	in, run1 := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		io.WriteString(run1, followHeader+followGrant1)
		// The next write returns after the command has read everything before it.
		io.WriteString(run1, followLater[:10])
		interrupt()
	}()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"check", "--follow", "-"}, in, &stdout, &stderr)
	if code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
}
