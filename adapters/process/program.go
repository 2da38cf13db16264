// Package process runs the server of an adapter that brings its own.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

// Program is the process of a bundled server. It dies with this process. Its
// methods are safe for concurrent use.
type Program struct {
	done   chan struct{} // closed when it has ended
	cmd    *exec.Cmd
	mu     sync.Mutex
	wanted bool // its end is
}

// Launch starts the process of a server, whose output goes to stderr. It sends an
// error to failed if the process ends without [Program.End].
func Launch(cmd *exec.Cmd, failed chan<- error) (*Program, error) {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := processes.Spawn(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	p := &Program{done: make(chan struct{}), cmd: cmd}
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.wanted {
			failed <- errors.Join(errors.New("it was not asked to"), err)
		}
		close(p.done)
	}()
	return p, nil
}

// End sends a signal that ends the process, and waits for that; after five seconds
// it kills the process. It does nothing for a nil Program.
func (p *Program) End(sig syscall.Signal) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.wanted = true
	p.mu.Unlock()
	_ = p.cmd.Process.Signal(sig) // it may have ended
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Until repeats ask until it returns no error, or the process has ended.
func (p *Program) Until(ctx context.Context, what string, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.done:
			return fmt.Errorf("%s: its process has ended: %w", what, err)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}
