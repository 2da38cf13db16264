package realtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/suite"
)

// What a live run leaves that was killed is found by the next one beside it,
// whichever command played it; and nobody else's folder of that name is.
func TestServersThatAreLeftAreFound(t *testing.T) {
	top := filepath.Join(t.TempDir(), "runs [of today]")
	for _, file := range []string{
		"a/results.json", "a/servers/x", "b/live/results.json", "b/live/servers/x",
		"mine/servers/x", "c/live/results.json", "c/sim/results.json",
	} {
		path := filepath.Join(top, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, next := range []string{"d", "d/", "c/live"} {
		found, err := serversBeside(suite.Dir(filepath.Join(top, next)))
		if want := []string{filepath.Join(top, "a", "servers"), filepath.Join(top, "b", "live", "servers")}; err != nil || strings.Join(found, " ") != strings.Join(want, " ") {
			t.Errorf("beside %s: %v, %v", next, found, err)
		}
	}
}
