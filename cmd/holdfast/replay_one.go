package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// replaySchema names the format of [replayed] as JSON.
const replaySchema = "holdfast-replay/1"

// replayed is one run played again and looked at: what replay prints as JSON.
type replayed struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	Seed     uint64 `json:"seed"`
	// Same says that the history is the stored one, Difference in words what
	// is not.
	Same       bool   `json:"same"`
	Difference string `json:"difference,omitempty"`
	simplay.Seen

	words  string           // where it stopped
	stored *history.History // the history as it is in the run directory
	hash   string
}

// chosen says whether the flags ask for a run.
func (f replayFlags) chosen(r results.Run) bool {
	return (f.scenario == "" || f.scenario == r.Scenario) && (f.lock == "" || f.lock == r.Lock) && (!f.seeded || f.seed == r.Seed)
}

// shownChoices is how many runs an error offers.
const shownChoices = 8

// choices is a hint that lists runs to choose from.
func choices(runs []results.Run) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("--scenario %s --lock %s --seed %d", r.Scenario, r.Lock, r.Seed))
	}
	if more := len(all) - shownChoices; more > 0 {
		all = append(all[:shownChoices], fmt.Sprintf("or one of %d more", more))
	}
	return "it holds\n  " + strings.Join(all, "\n  ")
}

// look plays the only run of jobs again, looks at it, and prints what it saw.
func (f replayFlags) look(ctx context.Context, dir suite.Dir, j suite.Job, run results.Run, stdout, stderr io.Writer) error {
	if run.History == "" {
		return badInput(fmt.Errorf("the history of %s with %s was not stored", run.Scenario, run.Lock), "holdfast run stores it")
	}
	stored, err := readHistory(ctx, dir.File(filepath.FromSlash(run.History)), history.Decode, stderr)
	if err != nil {
		return badInput(err)
	}
	r := replayed{Schema: replaySchema, Scenario: run.Scenario, Lock: run.Lock, Seed: run.Seed, stored: stored}
	look := simplay.Watch{Messages: f.trace != ""}
	if f.stopAt != "" {
		m, err := parseMoment(f.stopAt)
		if err != nil {
			return err
		}
		stop, words, err := m.in(stored)
		if err != nil {
			return err
		}
		look.Stop, r.words = &stop, words
	}
	if j.Args, err = json.Marshal(look); err != nil {
		return defect(err)
	}
	j.Kind = suite.WatchedKind
	var a *suite.Answer
	if err := (workers.Pool{Workers: 1, Stall: time.Minute}).Play(ctx, []suite.Job{j}, func(x suite.Answer) { a = &x }); err != nil {
		return defect(err)
	}
	switch {
	case a == nil:
		return &exitError{code: exitInterrupted, msg: "interrupted"}
	case a.Defect != "":
		return defect(fmt.Errorf("%s with %s, seed %d: %s", r.Scenario, r.Lock, r.Seed, a.Defect))
	case a.Killed:
		return &exitError{code: exitUnknown, msg: fmt.Sprintf("%s with %s, seed %d: %s", r.Scenario, r.Lock, r.Seed, a.Run.Failure), hints: []string{workers.KilledHint}}
	case a.Out == nil:
		return defect(fmt.Errorf("%s with %s, seed %d: %s", r.Scenario, r.Lock, r.Seed, a.Run.Failure))
	}
	seen, err := suite.DecodeAs[simplay.Seen](a.Out)
	if err != nil {
		return defect(err)
	}
	r.Seen, r.hash = *seen, a.Run.HistorySHA256
	r.compare(run.HistorySHA256)
	if err := r.print(f, stdout, stderr); err != nil {
		return err
	}
	if r.Difference != "" {
		return defect(fmt.Errorf("%s with %s, seed %d did not give the stored history: %s", r.Scenario, r.Lock, r.Seed, r.Difference))
	}
	return nil
}

// compare says whether the new history is the stored one, and where not.
func (r *replayed) compare(storedHash string) {
	r.Same = r.hash == storedHash
	if r.Same {
		return
	}
	if r.State == nil {
		r.Difference = fmt.Sprintf("its hash is %.12s, stored %.12s", r.hash, storedHash)
		if r.words != "" {
			r.Difference += ", and what it was to stop at never happened"
		}
		return
	}
	for i, e := range r.State.Events {
		if i >= len(r.stored.Events) || !sameEvent(e, r.stored.Events[i]) {
			r.Difference = fmt.Sprintf("line %d is another", i+2)
			return
		}
	}
	r.Difference = fmt.Sprintf("lines 2 to %d are the same, something after them is not", len(r.State.Events)+1)
}

func sameEvent(a, b history.Event) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// print writes what was seen: the trace where the flags say, the state to
// stdout.
func (r *replayed) print(f replayFlags, stdout, stderr io.Writer) error {
	if f.trace != "" && f.trace != "-" {
		var b bytes.Buffer
		r.writeTrace(&b)
		if err := os.WriteFile(f.trace, b.Bytes(), 0o644); err != nil {
			return badInput(fmt.Errorf("write trace: %w", err))
		}
		r.Messages = nil
	}
	if f.format == "json" {
		return printJSON(stdout, r)
	}
	same := stdout
	if f.trace == "-" {
		r.writeTrace(stdout)
		same = stderr
	}
	if r.State != nil {
		if f.trace == "-" {
			fmt.Fprintln(stdout)
		}
		r.writeState(stdout)
		return nil
	}
	if r.Same {
		fmt.Fprintf(same, "same       %s %s seed %d: %.12s\n", r.Scenario, r.Lock, r.Seed, r.hash)
	}
	return nil
}
