package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// tool runs a program that comes with a server until it has done its work.
func tool(ctx context.Context, cmd *exec.Cmd) error {
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := processes.Spawn(cmd); err != nil {
		return fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n\n") // advice follows
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, first)
	}
	return nil
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

// texts reads the first column of a query.
func texts(ctx context.Context, db *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// firstOf finds the first of some programs that is there, on the PATH or where
// Debian puts it.
func firstOf(name string, places ...string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, place := range places {
		found, _ := filepath.Glob(filepath.Join(place, name))
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

// versionOf is what a program says with --version, from its first digit on.
func versionOf(path string) string {
	out, err := exec.Command(path, "--version").Output()
	if path == "" || err != nil {
		return ""
	}
	for _, word := range strings.Fields(string(out)) {
		if word[0] >= '1' && word[0] <= '9' {
			return word
		}
	}
	return ""
}
