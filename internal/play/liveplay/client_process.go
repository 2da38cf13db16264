package liveplay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// greet sends hello to a client process. The error describes the process's answer
// if it did not open the lock.
func (l *liveRun) greet(ctx context.Context, p *processes.Process, h adapter.Hello) error {
	limit := cmp.Or(l.opts.Greeting, setupLimit)
	greeting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := p.Conversation().Hello(greeting, h)
	switch {
	case err == nil:
		return nil
	case greeting.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("it does not answer hello within %s%s", limit, stderrEnd(p))
	case p.Conversation().Err() != nil && p.Wait(ctx) != nil: // the process has what it wrote, and how it ended
		return p.Err()
	}
	return err
}

// stderrEnd is the end of a process's standard error.
func stderrEnd(p *processes.Process) string {
	if p.Stderr() == "" {
		return ""
	}
	return "; the end of its stderr:\n" + p.Stderr()
}

// exitResult describes the end of a process. Its message has the most informative line
// of its stderr: its panic, or else its last line.
func exitResult(err error, stderr string) *history.Result {
	var ended *processes.Error
	if !errors.As(err, &ended) || stderr == "" {
		return &history.Result{Message: err.Error()}
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	telling := lines[len(lines)-1]
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			telling = line
		}
	}
	return &history.Result{Message: fmt.Sprintf("%v: %s", ended.Err, telling), Stack: stderr}
}
