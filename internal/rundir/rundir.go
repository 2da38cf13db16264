// Package rundir is the directory of one invocation, in which runs and what
// came of them are stored: each can be played, judged and rendered again from
// what is in it.
package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Dir is the directory of one invocation:
//
//	results.json                               the verdicts
//	report.html                                the report
//	scenarios/NAME.yaml                        what was played
//	histories/NAME/LOCK-seed-N.jsonl           what happened
type Dir string

// Create makes a new run directory; an empty path picks one by the time.
// A run directory that is there already is made anew.
func Create(path string) (Dir, error) {
	if path == "" {
		path = Unused()
	}
	if Exists(filepath.Join(path, "results.json")) { // a run directory: what it holds is of another run
		for _, old := range []string{"scenarios", "histories", "report.html"} {
			if err := os.RemoveAll(filepath.Join(path, old)); err != nil {
				return "", fmt.Errorf("output directory: %w", err)
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(path, "scenarios"), 0o755); err != nil {
		return "", fmt.Errorf("output directory: %w", err)
	}
	probe := filepath.Join(path, "results.json")
	if err := os.WriteFile(probe, nil, 0o644); err != nil {
		return "", fmt.Errorf("output directory: %w", err)
	}
	return Dir(path), nil
}

// Unused is the path of a directory that is not there yet, named by the time.
func Unused() string {
	now := filepath.Join("holdfast-runs", time.Now().Format("20060102-150405"))
	path := now
	for i := 2; Exists(path); i++ {
		path = fmt.Sprintf("%s-%d", now, i)
	}
	return path
}

// Exists says whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// File is the path of a file in the directory.
func (d Dir) File(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// HistoryPath is where a run's history goes, relative to the directory. Names
// of scenarios and locks are safe as file names by their own rules.
func HistoryPath(scenario, lock string, seed uint64) string {
	return filepath.Join("histories", scenario, fmt.Sprintf("%s-seed-%d.jsonl", lock, seed))
}

// WriteScenario stores the source of a scenario that is played.
func (d Dir) WriteScenario(name string, source []byte) error {
	return whole.Bytes(d.File("scenarios", name+".yaml"), source)
}

// WriteResults writes the verdicts.
func (d Dir) WriteResults(res reports.Results) error {
	return whole.File(d.File("results.json"), func(w io.Writer) error { return reports.JSON(w, res) })
}

// ReadResults reads results.json again.
func (d Dir) ReadResults() (reports.Results, error) {
	f, err := os.Open(d.File("results.json"))
	if err != nil {
		return reports.Results{}, err
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil {
		return res, fmt.Errorf("%s: %w", d.File("results.json"), err)
	}
	return res, nil
}

// Edited lists the stored histories that are not what the run wrote: their
// hash is not the one in the results.
func (d Dir) Edited(res reports.Results) []string {
	var paths []string
	for _, r := range res.Runs {
		if r.History == "" || r.HistorySHA256 == "" {
			continue
		}
		f, err := os.Open(d.File(filepath.FromSlash(r.History)))
		if err != nil {
			continue // the report says that it is not there
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if f.Close(); err != nil || hex.EncodeToString(sum.Sum(nil)) != r.HistorySHA256 {
			paths = append(paths, r.History)
		}
	}
	return paths
}

// Document is what the report draws: the results, with the scenarios and
// histories of the directory, but for those that were edited.
func (d Dir) Document(res reports.Results, edited ...string) reports.Document {
	doc := reports.Document{Results: res, Histories: func(r reports.Run) (*history.History, error) {
		if r.History == "" {
			return nil, nil
		}
		if slices.Contains(edited, r.History) {
			return nil, errors.New("it was changed since the run")
		}
		return readHistory(d.File(filepath.FromSlash(r.History)))
	}}
	seen := map[string]bool{}
	about := func(name string) {
		if seen[name] {
			return
		}
		if s, err := scenarios.Load(d.File("scenarios", name+".yaml")); err == nil {
			doc.About = append(doc.About, reports.About{Name: s.Name, Title: s.Title, Story: s.Story})
		}
		seen[name] = true
	}
	inRun := map[string]bool{}
	for _, r := range res.Runs {
		inRun[r.Scenario] = true
	}
	for _, name := range scenarios.Names() {
		if inRun[name] {
			about(name)
		}
	}
	for _, r := range res.Runs {
		about(r.Scenario)
	}
	return doc
}

// Save writes the verdicts and the report.
func (d Dir) Save(res reports.Results, doc reports.Document) error {
	return errors.Join(d.WriteResults(res), d.WriteReport(doc))
}

// WriteReport writes the report.
func (d Dir) WriteReport(doc reports.Document) error {
	return whole.File(d.File("report.html"), func(w io.Writer) error { return reports.HTML(w, doc) })
}
