package liveplay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports/results"
)

// The next run beside a killed live run finds its servers, whichever command played it;
// and it leaves other folders of that name alone.
func TestServersThatAreLeftAreFound(t *testing.T) {
	top := filepath.Join(t.TempDir(), "runs [of today]")
	for _, run := range []string{"a", "b/live", "c/live", "c/sim"} {
		if _, err := suite.Create(filepath.Join(top, filepath.FromSlash(run)), results.Results{Schema: results.Schema}); err != nil {
			t.Fatal(err)
		}
	}
	for _, servers := range []string{"a/servers", "b/live/servers", "mine/servers"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(top, filepath.FromSlash(servers)), 0o755))
	}
	for _, next := range []string{"d", "d/", "c/live"} {
		found, err := serversBeside(suite.Dir(filepath.Join(top, next)))
		if want := []string{filepath.Join(top, "a", "servers"), filepath.Join(top, "b", "live", "servers")}; err != nil || strings.Join(found, " ") != strings.Join(want, " ") {
			t.Errorf("beside %s: %v, %v", next, found, err)
		}
	}
}

// Between two runs a harness has no servers, and one beside it takes the empty
// directory for a remain. The next run has a directory all the same, and the end
// of the harness is no error.
func TestServersDirOutlivesACleanUp(t *testing.T) {
	top := t.TempDir()
	for _, run := range []string{"first", "second"} {
		if _, err := suite.Create(filepath.Join(top, run), results.Results{Schema: results.Schema}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := openServers(suite.Dir(filepath.Join(top, "first")))
	must.Succeed(t, err)
	if _, err := openServers(suite.Dir(filepath.Join(top, "second"))); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(first)); err == nil {
		t.Fatal("the empty directory is still there: the test sees nothing")
	}
	for range 2 {
		run, err := processes.NewRunDir(string(first))
		must.Succeed(t, err)
		must.Succeed(t, run.Remove())
		must.Succeed(t, first.close())
	}
	if err := first.close(); err != nil {
		t.Error(err)
	}
}
