package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/rundir"
	"github.com/holdfast-go/holdfast/play"
	"github.com/holdfast-go/holdfast/play/liveplay"
	"github.com/holdfast-go/holdfast/play/simplay"
	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// Runs are played by worker processes, one per core and each on one core: that
// is several times faster than one process on all of them, and a lock under
// test that takes its process down takes one run with it. A worker reads jobs
// from stdin and writes an answer for each to stdout, as JSON lines.

// self is this program, to be started in another role.
func self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own executable: %w", err)
	}
	return exe, nil
}

// job is one run to play.
type job struct {
	ID       int    `json:"id"`
	Scenario string `json:"scenario"` // its name
	File     string `json:"file"`     // the scenario's file, for error messages
	Source   string `json:"source"`   // the scenario itself
	Lock     string `json:"lock"`
	Seed     uint64 `json:"seed"`
	// History is where to write the history; empty for nowhere, and then only
	// its hash is asked for and nothing is judged, unless Judge says so.
	History string `json:"history,omitempty"`
	Path    string `json:"path,omitempty"` // the same, relative to the run directory
	Judge   bool   `json:"judge,omitempty"`
	// Surprise writes the history only when a verdict is not as expected.
	Surprise bool `json:"surprise,omitempty"`
	// Look says what to look at meanwhile; nil for nothing.
	Look *simplay.Watch `json:"look,omitempty"`
	// Observe asks what a judged run has shown, as of one that was drawn.
	Observe bool `json:"observe,omitempty"`
	// Explore asks for a scenario to be drawn from the seed, instead of Source.
	Explore *explore.Plan `json:"explore,omitempty"`
	// Beside plays the drawn run also with the lock that Lock, a mutant, is
	// made from, where something is violated: only what that one does not
	// violate counts.
	Beside bool `json:"beside,omitempty"`
}

// readFrom is the file that a run's scenario was read from, empty for a
// built-in one.
func (j job) readFrom() string {
	if source, err := scenarios.Source(j.Scenario); err == nil && string(source) == j.Source {
		return ""
	}
	return j.File
}

// answer is what came of a job.
type answer struct {
	ID     int         `json:"id"`
	Run    results.Run `json:"run"`
	Defect string      `json:"defect,omitempty"` // the run is worthless, through a fault of holdfast's own
	Output string      `json:"output,omitempty"` // the history could not be written
	// Seen is what the job has asked to look at.
	Seen *simplay.Seen `json:"seen,omitempty"`
	// Drawn is what a drawn run has shown, or one to observe; with a defect,
	// the scenario alone.
	Drawn *explore.Seen `json:"drawn,omitempty"`

	killed    bool // the worker was, from outside, and again when it was played once more
	disturbed bool // the machine was too busy for the run to mean anything
}

func newWorkerCmd() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Play runs for another holdfast (internal)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return work(c.InOrStdin(), c.OutOrStdout()) },
	}
}

func newClientCmd() *cobra.Command {
	return &cobra.Command{
		Use: "client", Short: "Be a client process of a run on real servers (internal)", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			logging.Disable()
			return liveplay.ServeWorker(c.Context(), c.InOrStdin(), c.OutOrStdout())
		},
	}
}

func work(stdin io.Reader, stdout io.Writer) error {
	logging.Disable()
	in, out := json.NewDecoder(bufio.NewReader(stdin)), json.NewEncoder(stdout)
	still := &standstill{}
	go still.watch(os.Stderr)
	for {
		var j job
		if err := in.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return defect(fmt.Errorf("read job: %w", err))
		}
		if err := out.Encode(playJob(j, still)); err != nil {
			return defect(fmt.Errorf("write answer: %w", err))
		}
	}
}

// startsProcesses says whether this system can start worker processes.
const startsProcesses = runtime.GOOS != "js"

// playHere plays jobs in this process, one after the other. A lock under test
// that crashes or never ends takes the whole command with it.
func playHere(ctx context.Context, jobs iter.Seq[job], got func(answer)) {
	logging.Disable()
	for j := range jobs {
		if ctx.Err() != nil {
			return
		}
		got(playJob(j, &standstill{}))
	}
}

// playJob plays, judges and stores one run.
func playJob(j job, still *standstill) (a answer) {
	a = answer{ID: j.ID, Run: results.Run{Scenario: j.Scenario, Lock: j.Lock, World: "sim", Seed: j.Seed, File: j.readFrom()}}
	if j.Beside {
		return playBeside(j, a, still)
	}
	if j.Explore != nil {
		return playDrawn(j, a, still)
	}
	began := time.Now()
	s, err := scenarios.Parse(j.File, []byte(j.Source))
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	l, err := subject.FindSubject(j.Lock)
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	var look simplay.Watch
	if j.Look != nil {
		look = *j.Look
	}
	var p *play.Played
	still.play(func() { p, a.Seen, err = simplay.PlayWatched(s, l, j.Seed, version, look) })
	if err != nil {
		a.Defect = err.Error()
		return a
	}
	rundir.Record(&a.Run, p)
	if j.History != "" || j.Judge {
		a.judge(j, s, l, p.History)
		if j.Observe {
			seen := explore.Observe(s, p.History, a.Run.Verdicts)
			a.Drawn = &seen
		}
		a.Run.Stats.WallMS = float64(time.Since(began).Microseconds()) / 1000
	}
	return a
}

// judge judges a history, compares the verdicts with the expected ones, and
// stores it where the job says.
func (a *answer) judge(j job, s *scenarios.Scenario, l *subject.Subject, h *history.History) {
	if err := rundir.Judge(&a.Run, s, l, h); err != nil {
		a.Defect = err.Error()
	}
	if j.History == "" || (j.Surprise && a.Run.AsExpected) {
		return
	}
	if err := rundir.Store(j.History, h); err != nil {
		a.Output = err.Error()
		return
	}
	a.Run.History = j.Path
}
