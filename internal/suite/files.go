package suite

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/reports/results"
)

// kind describes the files of a run directory.
var kind = disk.Kind{
	Index:    "results.json",
	Patterns: []string{"report.html", "scenarios/*.yaml", "histories/*/*.jsonl", "histories/*/*.jsonl.part"},
	Names: func(doc []byte) ([]string, error) {
		res, err := results.ReadJSON(bytes.NewReader(doc))
		return files(res), err
	},
}

// Usable says whether [Create] may use a directory for some runs.
func Usable(dir string) error {
	_, err := disk.Open(dir, kind)
	return err
}

// Holds reports whether a directory holds the results of runs.
func Holds(dir string) bool {
	return Exists(filepath.Join(dir, kind.Index)) && Usable(dir) == nil
}

// JournalPath is the path of a history while it is recorded.
func JournalPath(history string) string { return history + ".part" }

// files are the files that results name beside results.json, with slashes. An
// interrupted or failed run may have left a history that it does not name.
func files(res results.Results) []string {
	names := []string{"report.html"}
	scenario := func(name string) { names = append(names, "scenarios/"+name+".yaml") }
	history := func(name string) {
		name = filepath.ToSlash(name)
		names = append(names, name, JournalPath(name))
	}
	for _, r := range res.Runs {
		scenario(r.Scenario)
		history(HistoryPath(r.Scenario, r.Lock, r.Seed, r.User))
		if r.History != "" {
			history(r.History)
		}
	}
	for _, s := range res.Skipped {
		scenario(s.Scenario)
	}
	for _, name := range res.Pending {
		scenario(path.Base(path.Dir(name)))
		history(name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
