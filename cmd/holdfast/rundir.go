package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/scenarios"
)

// runDir is the directory of one invocation:
//
//	results.json                               the verdicts
//	report.html                                the report
//	scenarios/NAME.yaml                        what was played
//	histories/NAME/LOCK-seed-N.jsonl           what happened
type runDir string

// createRunDir makes a new run directory; an empty path picks one by the time.
// A run directory that is there already is made anew.
func createRunDir(path string) (runDir, error) {
	if path == "" {
		path = filepath.Join("holdfast-runs", time.Now().Format("20060102-150405"))
		for i := 2; exists(path); i++ {
			path = filepath.Join("holdfast-runs", fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), i))
		}
	}
	if exists(filepath.Join(path, "results.json")) { // a run directory: what it holds is of another run
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
	return runDir(path), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (d runDir) file(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// historyPath is where a run's history goes, relative to the directory. Names
// of scenarios and locks are safe as file names by their own rules.
func historyPath(scenario, lock string, seed uint64) string {
	return filepath.Join("histories", scenario, fmt.Sprintf("%s-seed-%d.jsonl", lock, seed))
}

func (d runDir) writeScenario(p played) error {
	return os.WriteFile(d.file("scenarios", p.scenario.Name+".yaml"), p.source, 0o644)
}

func (d runDir) writeResults(res reports.Results) error {
	var b bytes.Buffer
	if err := reports.JSON(&b, res); err != nil {
		return err
	}
	return os.WriteFile(d.file("results.json"), b.Bytes(), 0o644)
}

// readResults reads results.json again.
func (d runDir) readResults() (reports.Results, error) {
	f, err := os.Open(d.file("results.json"))
	if err != nil {
		return reports.Results{}, err
	}
	defer f.Close()
	res, err := reports.ReadJSON(f)
	if err != nil {
		return res, fmt.Errorf("%s: %w", d.file("results.json"), err)
	}
	return res, nil
}

// edited lists the stored histories that are not what the run wrote: their
// hash is not the one in the results.
func (d runDir) edited(res reports.Results) []string {
	var paths []string
	for _, r := range res.Runs {
		if r.History == "" || r.HistorySHA256 == "" {
			continue
		}
		f, err := os.Open(d.file(filepath.FromSlash(r.History)))
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

// editedError says so.
func editedError(d runDir, paths []string) error {
	what := fmt.Sprintf("%s and %d more histories", paths[0], len(paths)-1)
	if len(paths) == 1 {
		what = paths[0]
	}
	return badInput(fmt.Errorf("%s: %s changed since the run: the hash is not the one in results.json", d, what),
		"the verdicts are about the histories as they were; holdfast check judges one as it is now")
}

// document is what the report draws: the results, with the scenarios and
// histories of the directory, but for those that were edited.
func (d runDir) document(res reports.Results, edited ...string) reports.Document {
	doc := reports.Document{Results: res, Histories: func(r reports.Run) (*checker.History, error) {
		if r.History == "" {
			return nil, nil
		}
		if slices.Contains(edited, r.History) {
			return nil, errors.New("it was changed since the run")
		}
		return readHistory(context.Background(), d.file(filepath.FromSlash(r.History)), checker.Decode, io.Discard)
	}}
	seen := map[string]bool{}
	about := func(name string) {
		if seen[name] {
			return
		}
		if s, err := scenarios.Load(d.file("scenarios", name+".yaml")); err == nil {
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

// save writes the verdicts and the report.
func (d runDir) save(res reports.Results, doc reports.Document) error {
	return errors.Join(d.writeResults(res), d.writeReport(doc))
}

func (d runDir) writeReport(doc reports.Document) error {
	f, err := os.Create(d.file("report.html"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(reports.HTML(w, doc), w.Flush(), f.Close())
}
