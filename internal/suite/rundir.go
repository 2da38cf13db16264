// Package suite plans runs, plays and judges them, compares the verdicts with the
// expected ones, and stores everything in a run directory. From the directory each
// run can be played, judged and rendered again.
//
// Directories join run by run, with a history for each; package search joins shards, of
// which the longer play counts.
package suite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/reports/results"
)

// Dir is the directory of one invocation:
//
//	results.json                               the verdicts
//	report.html                                the report
//	scenarios/NAME.yaml                        what was played
//	histories/NAME/LOCK-seed-N.jsonl           what happened
type Dir string

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
	history := func(name string) { names = append(names, name, JournalPath(name)) }
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

// Create makes a run directory for what plan names: its pending histories, and
// the scenarios of these and of its skips. Create reuses a run directory that is
// there and removes the files which its results name; it refuses any other directory
// that is not empty.
//
// Until the caller writes the results, results.json says that the run was interrupted.
func Create(dir string, plan results.Results) (Dir, error) {
	plan.Runs, plan.Interrupted = nil, true
	out, err := disk.Open(dir, kind)
	if err != nil {
		return "", err
	}
	if err := out.Allow(files(plan)...); err != nil {
		return "", err
	}
	if err := out.Clear(); err != nil {
		return "", fmt.Errorf("output directory: %w", err)
	}
	d := Dir(dir)
	if err := errors.Join(os.MkdirAll(d.File("scenarios"), 0o755), d.WriteResults(plan)); err != nil {
		return "", fmt.Errorf("output directory: %w", err)
	}
	return d, nil
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

// Exists reports whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// File is the path of a file in the directory, whose name may have slashes.
func (d Dir) File(parts ...string) string {
	return filepath.Join(string(d), filepath.FromSlash(path.Join(parts...)))
}

// HistoryPath is where a run's history goes, in the directory and with slashes. Names
// of scenarios and locks are safe as file names by their own rules. user is that of
// the run, "" for the user of the scenario.
func HistoryPath(scenario, lock string, seed uint64, user string) string {
	if user != "" {
		user = "-" + user
	}
	return path.Join("histories", scenario, fmt.Sprintf("%s-seed-%d%s.jsonl", lock, seed, user))
}

// WriteScenario stores the source of a scenario that is played.
func (d Dir) WriteScenario(name string, source []byte) error {
	return disk.Bytes(d.File("scenarios", name+".yaml"), source)
}

func (d Dir) WriteResults(res results.Results) error {
	return disk.File(d.File("results.json"), func(w io.Writer) error { return results.JSON(w, res) })
}

// sound refuses results that no run writes: none at all, or one run twice.
func sound(res results.Results) error {
	if len(res.Runs) == 0 && !res.Interrupted {
		return fmt.Errorf("%w: it has no runs", results.ErrResults)
	}
	seen := map[RunID]bool{}
	for _, r := range res.Runs {
		if seen[IDOf(&r)] {
			return errors.New(input.Sprintf("it has a run twice: %s with %s, seed %d", r.Scenario, r.Lock, r.Seed))
		}
		seen[IDOf(&r)] = true
	}
	return nil
}

// Command is a file of the directory, as a command takes it.
func (d Dir) Command(name string) string {
	path := d.File(name)
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, ".") {
		path = "./" + path
	}
	return path
}

// runDirOf is the run directory in which a file lies, such as a history of a run, or
// else the directory of the file.
func runDirOf(file string) string {
	dir := filepath.Dir(file)
	for d, i := dir, 0; i < 3; d, i = filepath.Dir(d), i+1 { // DIR/histories/SCENARIO/FILE
		if _, err := os.Stat(filepath.Join(d, "results.json")); err == nil {
			return d
		}
	}
	return dir
}

// ReadResults reads results.json again.
func (d Dir) ReadResults() (results.Results, error) {
	f, err := os.Open(d.File("results.json"))
	if info, wrong := os.Stat(string(d)); wrong == nil && !info.IsDir() {
		return results.Results{}, fmt.Errorf("%s is a file\nhint: name the directory that holds it: %s", d, runDirOf(string(d)))
	}
	if err != nil {
		return results.Results{}, err
	}
	defer f.Close()
	res, err := results.ReadJSON(f)
	if err != nil {
		return res, fmt.Errorf("%s: %w", d.File("results.json"), err)
	}
	if err := sound(res); err != nil {
		return res, fmt.Errorf("%s: %w", d.File("results.json"), err)
	}
	for _, name := range files(res) {
		if err := kind.Check(name); err != nil {
			return res, fmt.Errorf("%s: %w", d, err)
		}
	}
	return res, nil
}

// Missing lists the histories that the results name and that are not there.
func (d Dir) Missing(res results.Results) []string {
	var paths []string
	for _, r := range res.Runs {
		if r.History != "" && !Exists(d.File(r.History)) {
			paths = append(paths, r.History)
		}
	}
	return paths
}

// Edited lists the stored histories that are not what the run wrote: their
// hash is not the one in the results.
func (d Dir) Edited(res results.Results) []string {
	var paths []string
	for _, r := range res.Runs {
		if r.History == "" || r.HistorySHA256 == "" {
			continue
		}
		path := d.File(r.History)
		if hash, err := HashOf(path); hash != r.HistorySHA256 && (err == nil || Exists(path)) { // else see [Dir.Missing]
			paths = append(paths, r.History)
		}
	}
	return paths
}

// HashOf is the SHA-256 of a file, in hexadecimal digits.
func HashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
