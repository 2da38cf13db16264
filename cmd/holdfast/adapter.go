package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/mattn/go-shellwords"

	"github.com/holdfast-go/holdfast/live/processes"
	"github.com/holdfast-go/holdfast/subject"
)

// adapterStart is how long a process of an adapter may take to answer what it
// is asked first: a virtual machine may have to come up. Tests are less patient.
var adapterStart = 30 * time.Second

// adapterCommand splits the command of an adapter into words, as a shell does.
// The program is made absolute, as processes run in directories of their own.
func adapterCommand(command string) ([]string, error) {
	words := shellwords.NewParser()
	words.ParseEnv = true
	argv, err := words.Parse(command)
	if err == nil && words.Position >= 0 {
		err = fmt.Errorf("an adapter is one program: no %q", []rune(command)[words.Position])
	}
	if err != nil {
		return nil, usage(fmt.Sprintf("--adapter %s: %v", command, err), "quote as in a shell")
	}
	if len(argv) == 0 {
		return nil, usage("--adapter needs a command")
	}
	if argv, err = absolute(argv); err != nil {
		return nil, badInput(fmt.Errorf("adapter %s: %w", command, err), "it may have to be built first: see adapters/README.md")
	}
	return argv, nil
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
func describe(ctx context.Context, argv []string) (locks []subject.Description, err error) {
	dir, err := os.MkdirTemp("", "holdfast-adapter-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(ctx, adapterStart)
	defer cancel()
	p, err := processes.Start("adapter", dir, argv, nil)
	if err != nil {
		return nil, err
	}
	locks, err = p.Conversation().Describe(ctx)
	if err == nil {
		return locks, p.Stop(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it does not answer describe within %s", adapterStart)
	}
	if err = errors.Join(err, p.Kill()); p.Stderr() != "" {
		err = fmt.Errorf("%w; the end of its stderr:\n%s", err, p.Stderr())
	}
	return nil, err
}
