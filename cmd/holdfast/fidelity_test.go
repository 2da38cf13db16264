package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/suite"
)

// If the simulated world and a real one agree, the command says so, and both
// leave a run directory.
func TestFidelityOfAFewRuns(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"holder-pause", "--lock", "set-px-lua,reentrant"}, []string{"set-px", "reentrant", "holder-pause", "2 pairs of scenario and lock in both worlds: 2 agree,"}},
		{[]string{"contention", "--lock", "set-px", "--format", "markdown"}, []string{"| scenario | set-px |\n|---|:---:|\n| contention |"}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			dir := suite.Dir(filepath.Join(t.TempDir(), "both"))
			h := command(t, append(append([]string{"selftest", "fidelity"}, c.args...), "--out", string(dir))...)
			code := h.code(t)
			if code != exitOK {
				t.Errorf("exit %d: %s", code, &h.stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(h.stdout.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, &h.stdout)
				}
			}
			worlds, err := os.ReadDir(string(dir))
			if err != nil || len(worlds) != 2 {
				t.Errorf("the directory has %v, %v", worlds, err)
			}
			for _, world := range []string{worldSim, worldLive} {
				own := suite.Dir(dir.File(world))
				res, err := own.ReadResults()
				if err != nil || len(res.Runs) == 0 {
					t.Errorf("%s: %d runs, %v", world, len(res.Runs), err)
				}
				for _, r := range res.Runs {
					if r.World != world || !suite.Exists(own.File(filepath.FromSlash(r.History))) {
						t.Errorf("%s has a run of the %s world, with the history %s", world, r.World, r.History)
					}
				}
				if !suite.Exists(own.File("report.html")) || !strings.Contains(h.stderr.String(), own.File("report.html")) {
					t.Errorf("%s has no report, or nobody says where: %s", world, &h.stderr)
				}
			}
			empty(t, h.home)
			empty(t, h.tmp)
		})
	}
}
