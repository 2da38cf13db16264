//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
)

const soakHeader = `{"format":"holdfast-history/1","scenario":"soak","lock":"mine","world":"live","seed":7,"version":"x","claims":{}}` + "\n"

// A named pipe may have no writer, and a pipe may be empty.
func TestCheckInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Succeed(t, syscall.Mkfifo(pipe, 0o600))
	judging := make(chan struct{})
	for _, tt := range []struct {
		name, stdin string
		args        []string
	}{
		{"opening", "", []string{"check", pipe}},
		{"reading", soakHeader, []string{"check", "-"}},
		{"judging", soakHeader + `{"t":1,"kind":"end","end":{}}` + "\n", []string{"check", "-"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			in, said := io.Pipe()
			judgeHistory = func(*history.History, checker.Options) (checker.Report, error) {
				interrupt()
				<-judging
				return checker.Report{}, nil
			}
			defer func() { judgeHistory = checker.Judge }()
			go func() {
				if tt.stdin != "" {
					io.WriteString(said, tt.stdin)
				}
				if tt.name == "judging" {
					said.Close()
				} else {
					interrupt()
				}
			}()
			var stdout, stderr bytes.Buffer
			if code := run(ctx, tt.args, in, &stdout, &stderr); code != exitInterrupted || stderr.String() != "holdfast: interrupted\n" || stdout.Len() > 0 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, &stdout, &stderr)
			}
		})
	}
	close(judging)
}
