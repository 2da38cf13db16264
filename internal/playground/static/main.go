// Command static writes the playground as files for any web server: the page, and
// the simulator as WebAssembly.
//
//	go run ./internal/playground/static DIRECTORY
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/playground"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/playground/static DIRECTORY")
		os.Exit(2)
	}
	if err := write(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

// write writes every file of the page into a directory. It needs the Go command
// and the source of Holdfast.
func write(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("output directory: %w", err)
	}
	files, err := playground.Files(playground.InBrowser)
	if err != nil {
		return err
	}
	root, err := goCommand(ctx, "env", "GOROOT")
	if err != nil {
		return err
	}
	if files["wasm_exec.js"], err = os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js")); err != nil {
		return fmt.Errorf("read Go's own script: %w", err)
	}
	for name, text := range files {
		if err := disk.Bytes(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return simulator(ctx, filepath.Join(dir, playground.Simulator))
}

// simulator builds the WebAssembly, gzipped.
func simulator(ctx context.Context, path string) error {
	tmp, err := os.MkdirTemp("", "playground")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	program := filepath.Join(tmp, "holdfast.wasm")
	if _, err := goCommand(ctx, "build", "-trimpath", "-tags=noplots", "-ldflags=-s -w", "-o", program, "github.com/holdfast-go/holdfast/internal/playground/wasm"); err != nil {
		return err
	}
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	return disk.File(path, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		_, err := io.Copy(z, in)
		return errors.Join(err, z.Close())
	})
}

// goCommand runs the Go command for WebAssembly, and returns its output.
func goCommand(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := c.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, failed.Stderr)
		}
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
