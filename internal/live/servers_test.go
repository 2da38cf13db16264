package live

import (
	"cmp"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
	"github.com/holdfast-go/holdfast/internal/live/servers"
)

// start starts servers for a test, which are closed with it.
func start(t *testing.T, o servers.Options) *servers.Servers {
	t.Helper()
	if len(o.Backend.Miniredis) == 0 {
		livetest.RequireRedis(t)
	}
	o.Dir, o.Detect = t.TempDir(), cmp.Or(o.Detect, time.Second)
	return livetest.Open(t, o.Dir, func() (*servers.Servers, error) { return servers.Start(t.Context(), o, nil) })
}

// onBackends runs a test on servers of every backend.
func onBackends(t *testing.T, o servers.Options, test func(t *testing.T, s *servers.Servers)) {
	t.Parallel()
	for _, b := range []servers.Backend{{}, {Miniredis: livetest.Miniredis(t)}} {
		t.Run(b.Name(), func(t *testing.T) {
			t.Parallel()
			o := o
			o.Backend = b
			test(t, start(t, o))
		})
	}
}

// startWithClocks starts servers whose clocks can be moved, where there is a C
// compiler.
func startWithClocks(t *testing.T, o servers.Options) *servers.Servers {
	t.Helper()
	livetest.RequireCompiler(t)
	o.Clocks = true
	return start(t, o)
}
