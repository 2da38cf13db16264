package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/whole"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/shrink"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// shrunk is what is left of a run. It is an object of the JSON.
type shrunk struct {
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
	Stats    shrink.Stats     `json:"stats"`
	Command  string           `json:"command"` // that plays it
	Test     string           `json:"go_test"`
	OwnTest  string           `json:"go_test_own"` // for a lock of one's own

	story  string
	mutant string        // the lock it is a variant of
	cause  explore.Cause // of the violation
}

// tell puts the result into words, writes the scenario, and plays it once more
// for the story.
func (p *shrinking) tell(ctx context.Context, r shrink.Result) (*shrunk, error) {
	reason := r.Verdicts[p.target.Property].Reason
	all, err := p.others(ctx, r)
	if err != nil {
		return nil, err
	}
	s := shrink.Tell(r.Scenario, shrink.Finding{Lock: p.lock, Seed: r.Seed, Target: p.target, Reason: reason, From: p.scenario.Name}, all)
	src, err := s.YAML()
	if err != nil {
		return nil, defect(err)
	}
	if s, err = scenarios.Parse(p.flags.out, src); err != nil {
		return nil, defect(fmt.Errorf("write shrunk scenario: %w", err))
	}
	if err := whole.Bytes(p.flags.out, src); err != nil {
		return nil, badInput(fmt.Errorf("shrunk scenario: %w", err), "choose another file with --out")
	}
	res := &shrunk{Schema: "holdfast-shrink/1", Scenario: s.Name, Title: s.Title, From: p.scenario.Name, File: p.flags.out, Lock: p.lock, Seed: r.Seed,
		Property: p.target.Property, Class: p.target.Class, Reason: reason, Stats: r.Stats,
		Test: shrink.GoTest(s, cmp.Or(p.innocent, p.lock), r.Seed), OwnTest: shrink.GoTest(s, "", r.Seed), mutant: p.innocent}
	if err := p.story(ctx, res, s, src); err != nil {
		return nil, err
	}
	return res, nil
}

// others plays the result with all built-in locks, for what it expects of them.
func (p *shrinking) others(ctx context.Context, r shrink.Result) ([]shrink.Played, error) {
	src, err := r.Scenario.YAML()
	if err != nil {
		return nil, defect(err)
	}
	var locks []string
	for _, name := range subject.Locks() {
		l, err := subject.FindSubject(name)
		if err != nil {
			return nil, defect(err)
		}
		if ok, _ := r.Scenario.Applies(l); ok {
			locks = append(locks, name)
		}
	}
	// The lock of the finding is told first.
	slices.SortStableFunc(locks, func(a, b string) int {
		switch p.lock {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	var all []shrink.Played
	for _, lock := range locks {
		outcomes, err := p.play(ctx, lock, []shrink.Candidate{{Source: src, Seed: r.Seed}})
		if err != nil {
			return nil, defect(err)
		}
		all = append(all, shrink.Played{Lock: lock, Verdicts: outcomes[0].Verdicts})
	}
	return all, nil
}

// story plays the scenario as it was written and tells what happens. With a
// built-in lock it comes out as expected; a mutant is caught.
func (p *shrinking) story(ctx context.Context, res *shrunk, s *scenarios.Scenario, src []byte) error {
	path := p.history
	if path == "" {
		dir, err := os.MkdirTemp("", "holdfast-shrink-")
		if err != nil {
			return defect(err)
		}
		defer os.RemoveAll(dir)
		path = filepath.Join(dir, "history.jsonl")
	}
	answers, err := p.workers.Round(ctx, []suite.Job{{Scenario: s.Name, File: p.flags.out, Source: string(src), Lock: p.lock, Seed: res.Seed, History: path, Path: path, Kind: explore.ObservedKind}})
	if err != nil {
		return defect(err)
	}
	a := answers[0]
	switch {
	case a.Killed:
		return &exitError{code: exitUnknown, msg: p.flags.out + " is written, and could not be played: " + a.Run.Failure, hints: []string{workers.KilledHint}}
	case a.Defect != "":
		return defect(errors.New(a.Defect))
	case a.Output != "":
		return defect(errors.New(a.Output))
	case !p.target.Met(a.Run.Verdicts), !a.Run.AsExpected && slices.Contains(subject.Locks(), p.lock):
		return defect(fmt.Errorf("%s does not show what it was shrunk to", p.flags.out), "please report it, with the file")
	}
	res.cause, _ = explore.SeenIn(a).CauseOf(p.target.Property)
	doc := reports.Document{
		Results:   results.Results{Schema: results.Schema, Version: version, Runs: []results.Run{a.Run}},
		About:     []reports.About{{Name: s.Name, Title: s.Title, Story: s.Story}},
		Histories: func(results.Run) (*history.History, error) { return readRun(path) },
	}
	var b bytes.Buffer
	if err := reports.Text(&b, doc); err != nil {
		return defect(err)
	}
	res.story = b.String()
	res.Command = fmt.Sprintf("holdfast run %s --lock %s --seed %d", runnable(p.flags.out), p.lock, res.Seed)
	return nil
}

// runnable is a file as holdfast run takes it.
func runnable(file string) string {
	if strings.ContainsAny(file, " '\"$\\") {
		return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return file
}

func (s *shrunk) print(w io.Writer, format string) error {
	if format == "json" {
		return printJSON(w, s)
	}
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
	if s.mutant != "" {
		fmt.Fprintf(w, " With %s the same scenario is fine, so %s is caught: it is not as expected.", s.mutant, s.Lock)
	}
	_, err := fmt.Fprintf(w, "\n\n%s\nA regression test, with %s as testdata/%s.yaml:\n\n%s\nThe same for a lock of one's own:\n\n%s",
		s.story, s.File, s.Scenario, s.Test, s.OwnTest)
	return err
}
