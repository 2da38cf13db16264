package explore_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
)

// TestMain sets what a worker process of holdfast runs with: simulated runs
// are several times faster, and nothing races within one instant.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

func vocabulary(t *testing.T, survivable bool) draw.Vocabulary {
	t.Helper()
	v, err := draw.NewVocabulary(nil, nil, survivable)
	must.Succeed(t, err)
	return v
}
