package selftest

import (
	_ "embed"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
)

// knownDifferences explains each difference between the worlds, and says which
// one is right.
//
//go:embed fidelity.yaml
var knownDifferences []byte

// Compare compares the results of the simulator with those of real servers, and
// adds an explanation to each known difference. about gives the order of the
// scenarios.
func Compare(sim, live results.Results, about []reports.About) (reports.Fidelity, error) {
	f := reports.Fidelity{Sim: sim, Live: live, About: about}
	if err := yaml.Unmarshal(knownDifferences, &f.Explained); err != nil {
		return f, fmt.Errorf("read the known differences: %w", err)
	}
	return f, nil
}

// FidelityDir is the parent of the run directories of a comparison. An empty path
// means a new directory. The directory must be new or empty, or belong to another
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
	return dir, disk.Unused(path)
}
