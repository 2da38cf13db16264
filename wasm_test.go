//go:build !js

package holdfast_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenUnderWasm runs TestGolden under js/wasm in node, as a short test: the
// whole catalogue, and some of the drawn scenarios. A difference means that a
// seed gives another history on another kind of machine.
func TestGoldenUnderWasm(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
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
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test for js/wasm: %v\n%s", err, out)
	}
	// Go's own runner gives node this stack size.
	play := exec.CommandContext(t.Context(), node, "--stack-size=8192", runner, program, "-test.run=^TestGolden$", "-test.short", "-test.v")
	play.Env = append(os.Environ(), "GOGC=800")
	out, err := play.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestGolden ") {
		t.Fatalf("TestGolden under js/wasm in node: %v\n%s", err, out)
	}
}
