package shrink

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Report tells what is left of a run. It is an object of the JSON.
type Report struct {
	Schema   string           `json:"schema"`
	Scenario string           `json:"scenario"` // its new name
	Title    string           `json:"title"`
	From     string           `json:"from"` // the scenario that was shrunk
	File     string           `json:"file"`
	Lock     string           `json:"lock"`
	Seed     uint64           `json:"seed"`
	Property checker.Property `json:"property"`
	Class    string           `json:"class,omitempty"`
	Reason   string           `json:"reason"`
	Stats    Stats            `json:"stats"`
	Command  string           `json:"command"` // that plays it
	Test     string           `json:"go_test"`
	OwnTest  string           `json:"go_test_own"` // for a lock of one's own

	Answer suite.Answer `json:"-"` // of the run that the story tells

	story    string
	baseline string // the lock that a mutant is a variant of
}

type Output struct {
	Scenario string // the file
	History  string // the file; empty for nowhere
	// Kind is the kind of job for the run that the story tells, see [suite.Job]. Its
	// answer is in the report.
	Kind string
}

// CheckOutput refuses a file that is there, unless a report wrote it.
func CheckOutput(file string) error {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s, err := scenarios.Load(file); err == nil && Wrote(s) {
		return nil
	}
	return &OutputError{fmt.Errorf("%s is there: %w", file, disk.ErrForeign)}
}

// OutputError says that the scenario could not be written.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return "shrunk scenario: " + e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// Report puts a result into words, writes the scenario, and plays it once more
// for the story.
func (r *Run) Report(ctx context.Context, left Result, out Output) (*Report, error) {
	all, err := r.playAll(ctx, left)
	if err != nil {
		return nil, err
	}
	reason := left.Verdicts[r.Target.Property].Reason
	s := Tell(left.Scenario, Finding{Lock: r.Lock, Seed: left.Seed, Target: r.Target, Reason: reason, From: r.Scenario.Name}, all)
	src, err := s.YAML()
	if err != nil {
		return nil, err
	}
	if s, err = scenarios.Parse(out.Scenario, src); err != nil {
		return nil, fmt.Errorf("write shrunk scenario: %w", err)
	}
	if err := disk.Bytes(out.Scenario, src); err != nil {
		return nil, &OutputError{err}
	}
	told := &Report{Schema: "holdfast-shrink/1", Scenario: s.Name, Title: s.Title, From: r.Scenario.Name, File: out.Scenario, Lock: r.Lock, Seed: left.Seed,
		Property: r.Target.Property, Class: r.Target.Class, Reason: reason, Stats: left.Stats,
		Command: fmt.Sprintf("holdfast run %s --lock %s --seed %d", quoteFile(out.Scenario), r.Lock, left.Seed),
		OwnTest: GoTest(s, "", left.Seed, ""), baseline: r.baseline}
	if err := r.playStory(ctx, told, s, src, out); err != nil {
		return nil, err
	}
	hash := "" // a mutant's history is not that of its baseline
	if r.baseline == "" {
		hash = told.Answer.Run.HistorySHA256
	}
	told.Test = GoTest(s, cmp.Or(r.baseline, r.Lock), left.Seed, hash)
	return told, nil
}

// playAll plays the result with all built-in locks, the lock of the run first. The
// scenario will expect their verdicts.
func (r *Run) playAll(ctx context.Context, left Result) ([]Played, error) {
	src, err := left.Scenario.YAML()
	if err != nil {
		return nil, err
	}
	var all []Played
	for _, lock := range locks.Names() {
		if ok, _ := left.Scenario.Applies(locks.MustFind(lock)); !ok {
			continue
		}
		outcomes, err := r.play(ctx, lock, []Candidate{{Source: src, Seed: left.Seed}})
		if err != nil {
			return nil, err
		}
		all = append(all, Played{Lock: lock, Verdicts: outcomes[0].Verdicts})
	}
	if i := slices.IndexFunc(all, func(p Played) bool { return p.Lock == r.Lock }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	return all, nil
}

// playStory plays the scenario as it was written, and tells what happens. With a
// built-in lock every verdict is as expected; a mutant is caught.
func (r *Run) playStory(ctx context.Context, told *Report, s *scenarios.Scenario, src []byte, out Output) error {
	path := out.History
	if path == "" {
		dir, err := os.MkdirTemp("", "holdfast-shrink-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "history.jsonl")
	}
	answers, err := suite.Round(ctx, r.Runner, []suite.Job{{Scenario: s.Name, File: out.Scenario, Source: string(src), Lock: r.Lock, Seed: told.Seed, History: path, Path: path, Kind: out.Kind}})
	if err != nil {
		return err
	}
	a := answers[0]
	switch {
	case a.Killed:
		return &suite.KilledError{What: out.Scenario + " is written, and could not be played: " + a.Run.Failure}
	case a.Defect != "":
		return errors.New(a.Defect)
	case a.Output != "":
		return errors.New(a.Output)
	case !r.Target.Met(a.Run.Verdicts), !a.Run.AsExpected && slices.Contains(locks.Names(), r.Lock):
		return fmt.Errorf("%s does not show what it was shrunk to\nhint: please report it, with the file", out.Scenario)
	}
	told.Answer = a
	var b bytes.Buffer
	if err := (reports.Document{
		Results:   results.Results{Schema: results.Schema, Version: version.Holdfast, Runs: []results.Run{a.Run}},
		About:     []reports.About{{Name: s.Name, Title: s.Title, Story: s.Story}},
		Histories: func(results.Run) (*history.History, error) { return suite.ReadHistory(path) },
	}).Text(&b); err != nil {
		return err
	}
	told.story = b.String()
	return nil
}

func quoteFile(file string) string {
	if strings.ContainsAny(file, " '\"$\\") {
		return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return file
}

func (s *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	before, after := s.Stats.Before, s.Stats.After
	fmt.Fprintf(t, "\tbefore\tafter\t\n")
	for _, row := range []struct {
		what          string
		before, after int
	}{
		{"clients", before.Clients, after.Clients}, {"holds", before.Holds, after.Holds},
		{"operations", before.Ops, after.Ops}, {"faults", before.Faults, after.Faults},
	} {
		fmt.Fprintf(t, "%s\t%d\t%d\t\n", row.what, row.before, row.after)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, %s kept.", english.Count(s.Stats.Runs, "run"), english.Count(s.Stats.Kept, "change"))
	if s.Stats.Steady {
		fmt.Fprint(w, " Other seeds show it as well.")
	}
	if s.Stats.Limited {
		fmt.Fprint(w, " The limit was reached: it might be made smaller still.")
	}
	if s.baseline != "" {
		fmt.Fprintf(w, " With %s the same scenario is fine, so %s is caught: it is not as expected.", s.baseline, s.Lock)
	}
	_, err := fmt.Fprintf(w, "\n\n%s\nA regression test, with %s as testdata/%s.yaml:\n\n%s\nThe same for a lock of one's own:\n\n%s",
		s.story, s.File, s.Scenario, s.Test, s.OwnTest)
	return err
}
