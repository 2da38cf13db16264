package liveplay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-shellwords"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type AdapterError struct {
	Command string
	Hint    string // may be empty
	err     error
}

func (e *AdapterError) Error() string { return fmt.Sprintf("adapter %s: %v", e.Command, e.err) }
func (e *AdapterError) Unwrap() error { return e.err }

// Command is the command of an adapter: its words, or all of it in one, which
// is split as a shell does. The program is made absolute, as processes run in
// directories of their own.
func Command(words ...string) (argv []string, err error) {
	bad := func(err error, hint string) ([]string, error) {
		return nil, &AdapterError{Command: strings.Join(words, " "), Hint: hint, err: err}
	}
	argv = words
	if len(words) == 1 {
		if argv, err = split(words[0]); err != nil {
			return bad(err, "quote as in a shell")
		}
	}
	if len(argv) == 0 {
		return nil, errors.New("an adapter needs a command")
	}
	if argv, err = absolute(argv); err != nil {
		return bad(err, "it may have to be built first: see adapters/README.md")
	}
	return argv, nil
}

func split(command string) ([]string, error) {
	words := shellwords.NewParser()
	words.ParseEnv = true
	argv, err := words.Parse(command)
	if err == nil && words.Position >= 0 {
		return nil, fmt.Errorf("an adapter is one program: no %q", []rune(command)[words.Position])
	}
	return argv, err
}

// absolute makes names of files in a command absolute: the program's, and those
// of files that are there, which are meant as files.
func absolute(argv []string) ([]string, error) {
	argv = slices.Clone(argv)
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	if argv[0], err = filepath.Abs(program); err != nil {
		return nil, err
	}
	for i, word := range argv[1:] {
		if abs, err := filepath.Abs(word); err == nil && !filepath.IsAbs(word) && isFileThere(word) {
			argv[i+1] = abs
		}
	}
	return argv, nil
}

func isFileThere(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// describe starts an adapter, asks it what it has, and stops it.
func describe(ctx context.Context, argv []string, start time.Duration) (locks []locks.Description, clock, err error) {
	dir, err := os.MkdirTemp("", "holdfast-adapter-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(ctx, start)
	defer cancel()
	p, err := processes.Start("adapter", dir, argv, nil)
	if err != nil {
		return nil, nil, err
	}
	locks, err = p.Conversation().Describe(ctx)
	if err == nil {
		clock = p.ReadsClockByLibc()
		return locks, clock, p.Stop(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it does not answer describe within %s", start)
	}
	if err = errors.Join(err, p.Kill()); p.Stderr() != "" {
		err = fmt.Errorf("%w; the end of its stderr:\n%s", err, p.Stderr())
	}
	return nil, nil, err
}
