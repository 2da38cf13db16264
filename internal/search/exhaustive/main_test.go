package exhaustive_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// TestMain sets what a worker process of holdfast runs with: simulated runs
// are several times faster, and nothing races within one instant.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(800)
	logging.Disable()
	os.Exit(m.Run())
}
