package realtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/suite"
)

// What a live run leaves that was killed is found by the next one beside it,
// whichever command played it; and nobody else's folder of that name is.
func TestServersThatAreLeftAreFound(t *testing.T) {
	top := filepath.Join(t.TempDir(), "runs [of today]")
	for _, run := range []string{"a", "b/live", "c/live", "c/sim"} {
		if _, err := suite.Create(filepath.Join(top, filepath.FromSlash(run)), results.Results{Schema: results.Schema}); err != nil {
			t.Fatal(err)
		}
	}
	for _, servers := range []string{"a/servers", "b/live/servers", "mine/servers"} {
		if err := os.MkdirAll(filepath.Join(top, filepath.FromSlash(servers)), 0o755); err != nil {
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
