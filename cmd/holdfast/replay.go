package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/reports/results"
)

type replayFlags struct {
	scenario, lock string
	seed           uint64
	seeded         bool // whether a seed was given
	trace          string
	stopAt         string
	format         string
	workers        int
}

func newReplayCmd() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay RUNDIR",
		Short: "Play again what a run directory holds, compare the histories, look inside",
		Long: `Plays every run of RUNDIR again from its stored scenario and seed, and compares
the hash of the new history with the stored one. They are the same, to the bit,
for the same version of holdfast; exit code 4 when one is not. Exit code 2 when
a stored history is no longer what its run wrote, or was recorded on real
servers; 3 when a stored history is missing, or the process that played a run was
killed from outside.

Of one run, --trace shows every message on every link, and --stop-at the state of
every server, client and link at one moment. A moment is a line of the history
(12), the return of an operation (op 12), or a time (12.5s).`,
		Example: `  holdfast run holder-pause --lock reentrant --out pause
  holdfast replay pause
  holdfast replay pause --trace pause.txt
  holdfast replay pause --stop-at "op 5"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.seeded = c.Flags().Changed("seed")
			return f.replay(c.Context(), suite.Dir(args[0]), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&f.scenario, "scenario", "", "only runs of this scenario")
	c.Flags().StringVar(&f.lock, "lock", "", "only runs with this lock")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "only runs with this seed")
	c.Flags().StringVar(&f.trace, "trace", "", "write every message of one run to this file, - for stdout")
	c.Flags().StringVar(&f.stopAt, "stop-at", "", "show the state of one run at a line of its history, an operation or a time")
	formatFlag(c, &f.format, []string{"text", "json"}, "of what --trace - and --stop-at show: text or json")
	c.Flags().IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes")
	return c
}

// replay repeats the chosen runs of a run directory.
func (f replayFlags) replay(ctx context.Context, dir suite.Dir, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	res, err := dir.ReadResults()
	if err != nil {
		return badInput(err, "holdfast run writes a run directory, with results.json in it")
	}
	if len(res.Runs) == 0 {
		return badInput(fmt.Errorf("%s holds no runs", dir))
	}
	all := res.Runs
	res.Runs = slices.DeleteFunc(slices.Clone(all), func(r results.Run) bool { return !f.chosen(r) })
	if len(res.Runs) == 0 {
		return badInput(fmt.Errorf("%s holds no such run", dir), suite.Choices(all))
	}
	inside := f.trace != "" || f.stopAt != ""
	if inside && len(res.Runs) > 1 {
		return badInput(fmt.Errorf("--trace and --stop-at look at one run, and these are %d", len(res.Runs)), suite.Choices(res.Runs))
	}
	jobs, err := dir.ReplayJobs(res.Runs, play.Watch{})
	if err != nil {
		return notReplayable(err, res.Command)
	}
	if words := res.InterruptedWords(); words != "" {
		fmt.Fprintf(stderr, "warning: %s\n", words)
	}
	missing := dir.Missing(res)
	warnMissing(stderr, dir, missing)
	if res.Version != version {
		fmt.Fprintf(stderr, "warning: stored by version %s, this is %s: histories may differ\n", res.Version, version)
	}
	if !inside {
		if err := f.playAgain(ctx, dir, res, jobs, stdout, stderr); err != nil || len(missing) == 0 {
			return err
		}
		return missingHistories(len(missing))
	}
	if edited := dir.Edited(res); len(edited) > 0 {
		return editedError(dir, edited)
	}
	return f.look(ctx, dir, res.Runs[0], stdout, stderr)
}

// check refuses flags that contradict each other.
func (f replayFlags) check() error {
	if f.format == "json" && f.stopAt == "" && f.trace != "-" {
		return usage("--format json is about what --stop-at and --trace - show")
	}
	if f.stopAt != "" {
		_, err := suite.ParseMoment(f.stopAt)
		return momentError(err)
	}
	return nil
}

// momentError maps an error about --stop-at; nil stays nil.
func momentError(err error) error {
	if moment, ok := errors.AsType[*suite.MomentError](err); ok {
		return usage("--stop-at "+err.Error(), moment.Hint)
	}
	return err
}

// notReplayable names another command for a run that this one cannot replay.
func notReplayable(err error, command string) error {
	var not *suite.NotReplayableError
	switch {
	case !errors.As(err, &not):
		return badInput(err, "the run directory was changed since it was written")
	case not.Run.Test != "":
		return badInput(err, "play it again with: "+not.Run.Test)
	}
	return badInput(err, "holdfast check judges its history again", "to play it once more: "+command)
}

// playAgain replays the jobs, and compares the hashes.
func (f replayFlags) playAgain(ctx context.Context, dir suite.Dir, res results.Results, jobs []suite.Job, stdout, stderr io.Writer) error {
	bar := terminal.Count(stderr, len(jobs), "playing")
	all, err := suite.Replay(ctx, jobs, res.Runs, workers.Pool{Workers: f.workers, Stall: time.Minute}, bar.Step)
	bar.Done()
	if err != nil {
		return defect(err)
	}
	differ, killed := 0, 0
	for _, r := range all {
		switch r.Sameness {
		case suite.Unplayed:
			return &exitError{code: exitInterrupted, msg: "interrupted"}
		case suite.Failed, suite.Different:
			differ++
		case suite.Killed:
			killed++
		}
		fmt.Fprintln(stdout, r.Words())
	}
	if edited := dir.Edited(res); len(edited) > 0 && differ == 0 {
		return editedError(dir, edited)
	}
	if differ > 0 {
		return defect(fmt.Errorf("%d of %d runs did not give the stored history", differ, len(jobs)))
	}
	if killed > 0 {
		return &exitError{code: exitUnknown, msg: fmt.Sprintf("%d of %d runs could not be played", killed, len(jobs)), hints: []string{workers.KilledHint}}
	}
	return nil
}

// look replays a run under observation, and prints the observations.
func (f replayFlags) look(ctx context.Context, dir suite.Dir, run results.Run, stdout, stderr io.Writer) error {
	name := fmt.Sprintf("%s with %s, seed %d", run.Scenario, run.Lock, run.Seed)
	if run.History == "" {
		return badInput(fmt.Errorf("the history of %s with %s was not stored", run.Scenario, run.Lock), "holdfast run stores it")
	}
	stored, err := readHistory(ctx, dir.File(run.History), history.Decode, stderr)
	if err != nil {
		return badInput(err)
	}
	look, words := play.Watch{Messages: f.trace != ""}, ""
	if f.stopAt != "" {
		m, err := suite.ParseMoment(f.stopAt)
		if err != nil {
			return momentError(err)
		}
		var stop play.Stop
		if stop, words, err = m.In(stored); err != nil {
			return momentError(err)
		}
		look.Stop = &stop
	}
	jobs, err := dir.ReplayJobs([]results.Run{run}, look)
	if err != nil {
		return defect(err)
	}
	all, err := suite.Replay(ctx, jobs, []results.Run{run}, workers.Pool{Workers: 1, Stall: time.Minute}, func() {})
	if err != nil {
		return defect(err)
	}
	switch r := all[0]; {
	case r.Sameness == suite.Unplayed:
		return &exitError{code: exitInterrupted, msg: "interrupted"}
	case r.Sameness == suite.Killed:
		return &exitError{code: exitUnknown, msg: name + ": " + r.Reason, hints: []string{workers.KilledHint}}
	case r.Seen == nil:
		return defect(fmt.Errorf("%s: %s", name, r.Reason))
	}
	seen := pages.Look(all[0], stored, words)
	if err := f.print(seen, fmt.Sprintf("%.12s", all[0].Hash), stdout, stderr); err != nil {
		return err
	}
	if seen.Difference != "" {
		return defect(fmt.Errorf("%s did not give the stored history: %s", name, seen.Difference))
	}
	return nil
}

// print writes the observations: the trace to the file of the flag, the state to stdout.
func (f replayFlags) print(r *pages.Replay, hash string, stdout, stderr io.Writer) error {
	if f.trace != "" && f.trace != "-" {
		var b bytes.Buffer
		r.WriteTrace(&b)
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
		r.WriteTrace(stdout)
		same = stderr
	}
	if r.State != nil {
		if f.trace == "-" {
			fmt.Fprintln(stdout)
		}
		r.WriteState(stdout)
		return nil
	}
	if r.Same {
		fmt.Fprintf(same, "same       %s %s seed %d: %s\n", r.Scenario, r.Lock, r.Seed, hash)
	}
	return nil
}

func (f replayFlags) chosen(r results.Run) bool {
	return (f.scenario == "" || f.scenario == r.Scenario) && (f.lock == "" || f.lock == r.Lock) && (!f.seeded || f.seed == r.Seed)
}
