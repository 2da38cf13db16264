package servers

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/holdfast-go/holdfast/internal/live/processes"
)

//go:embed shim/clock.c
var shimSource []byte

const shimName = "clockshim.so"

// compiled is the clock shim as a library, compiled once per harness.
var compiled struct {
	sync.Mutex
	object []byte
}

// placeShim puts the clock shim into a run's directory. Without a C compiler it
// fails with [processes.ErrUnavailable].
func placeShim(dir string) error {
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.object == nil {
		b, err := compileShim(dir)
		if err != nil {
			return err
		}
		compiled.object = b
	}
	return failed(os.WriteFile(filepath.Join(dir, shimName), compiled.object, 0o600), "write the clock shim")
}

func compileShim(dir string) ([]byte, error) {
	compiler, err := findCompiler()
	if err != nil {
		return nil, err
	}
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, shimName)
	if err := os.WriteFile(source, shimSource, 0o600); err != nil {
		return nil, fmt.Errorf("write the source of the clock shim: %w", err)
	}
	cmd := exec.Command(compiler, "-shared", "-fPIC", "-O2", "-o", library, source)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: servers' clocks need a C compiler, and %s cannot compile for them: %w: %s",
			processes.ErrUnavailable, compiler, err, bytes.TrimSpace(out))
	}
	b, err := os.ReadFile(library)
	if err != nil {
		return nil, fmt.Errorf("read the clock shim: %w", err)
	}
	return b, nil
}

// CanCompile returns the reason why no clock moves on this machine, or nil.
func CanCompile() error {
	_, err := findCompiler()
	return err
}

func findCompiler() (string, error) {
	names := []string{"cc", "gcc", "clang"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: servers' clocks need a C compiler, and none of %s is on the PATH", processes.ErrUnavailable, strings.Join(names, ", "))
}
