package selftest

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/internal/outdir"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/suite"
)

// knownDifferences explains where the worlds differ, and who is right.
//
//go:embed fidelity.yaml
var knownDifferences []byte

// Compare compares the results of the simulator with those of real servers, and
// gives each known difference its explanation. about gives the order of the
// scenarios.
func Compare(sim, live results.Results, about []reports.About) (reports.Fidelity, error) {
	f := reports.Fidelity{Sim: sim, Live: live, About: about}
	if err := yaml.Unmarshal(knownDifferences, &f.Explained); err != nil {
		return f, fmt.Errorf("read the known differences: %w", err)
	}
	return f, nil
}

// Explained reports whether every difference has an explanation.
func Explained(f reports.Fidelity) bool {
	return !slices.ContainsFunc(f.Differences(), func(d reports.Difference) bool { return d.Explanation == "" })
}

// FidelityDir is the directory for the run directories of some worlds; path may
// be empty for one of its own. It is new or empty, or it holds those of another
// comparison.
func FidelityDir(path string, worlds []string) (suite.Dir, error) {
	if path == "" {
		path = suite.Unused()
	}
	dir := suite.Dir(path)
	for _, world := range worlds {
		if err := suite.Usable(dir.File(world)); err != nil {
			return "", err
		}
	}
	if suite.Holds(dir.File(worlds[0])) {
		return dir, nil
	}
	return dir, outdir.Unused(path)
}
