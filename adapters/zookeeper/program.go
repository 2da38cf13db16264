package main

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

	"github.com/holdfast-go/holdfast/live/processes"
)

// program is the process of a server. It dies with this one.
type program struct {
	done   chan struct{} // closed when it has ended
	cmd    *exec.Cmd
	mu     sync.Mutex
	wanted bool // its end is
}

// launch starts the process of a server. Its end is told to failed, unless
// somebody wanted it.
func launch(cmd *exec.Cmd, failed chan<- error) (*program, error) {
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := processes.Spawn(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	p := &program{done: make(chan struct{}), cmd: cmd}
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

// end sends a signal that ends the process, and waits for that.
func (p *program) end(sig syscall.Signal) {
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

// until asks again until there is no error, or the process has ended.
func (p *program) until(ctx context.Context, what string, ask func(context.Context) error) error {
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
