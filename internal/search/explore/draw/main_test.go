package draw_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain sets what a worker process of holdfast runs with: simulated runs
// are several times faster, and nothing races within one instant.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
