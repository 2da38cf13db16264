//go:build !js

package holdfast_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/nightly"
)

// TestGoldenUnderWasm runs TestGolden under js/wasm in node: all of it in make nightly,
// and otherwise as a short test. A difference means that a seed gives another history
// on another kind of machine.
func TestGoldenUnderWasm(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds for js/wasm")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_NODE") != "" {
			t.Fatal("HOLDFAST_REQUIRE_NODE is set, and node is not on the PATH: install Node.js 18 or later")
		}
		t.Skip("node is not on the PATH; HOLDFAST_REQUIRE_NODE=1 makes this a failure")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("find the Go installation: %v", err)
	}
	runner := filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec_node.js")
	program := filepath.Join(t.TempDir(), "golden.wasm")
	// The playground is built with these flags, and so shares the packages.
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath", "-tags=noplots", "-ldflags=-s -w", "-vet=off", "-o", program, "./internal/suite")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test for js/wasm: %v\n%s", err, out)
	}
	// Go's own runner gives node this stack size.
	play := exec.CommandContext(t.Context(), node, "--stack-size=8192", runner, program, "-test.run=^TestGolden$", "-test.v",
		fmt.Sprintf("-test.short=%t", nightly.Every(2) != 1))
	play.Dir = "internal/suite" // whose testdata has the golden files
	play.Env = append(os.Environ(), "GOGC=800")
	out, err := play.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestGolden ") {
		t.Fatalf("TestGolden under js/wasm in node: %v\n%s", err, out)
	}
}
