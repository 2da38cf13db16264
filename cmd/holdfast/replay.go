package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/suite"
	"github.com/holdfast-go/holdfast/suite/workers"
)

// replayFlags are the flags of replay.
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

Of one run, --trace shows every message on every link, and --stop-at what every
server, client and link was in at one moment: when a line of the history was
recorded (12), an operation returned (op 12), or at a time (12.5s).`,
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
	c.Flags().StringVar(&f.format, "format", "text", "of what --trace - and --stop-at show: text or json")
	c.Flags().IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes")
	complete(c, "format", []string{"text", "json"})
	return c
}

// replay plays the chosen runs of a run directory again.
func (f replayFlags) replay(ctx context.Context, dir suite.Dir, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	res, err := dir.ReadResults()
	if err != nil {
		return badInput(err, "a run directory is what holdfast run writes; it holds results.json")
	}
	if len(res.Runs) == 0 {
		return badInput(fmt.Errorf("%s holds no runs", dir))
	}
	all := res.Runs
	res.Runs = nil
	for _, r := range all {
		if f.chosen(r) {
			res.Runs = append(res.Runs, r)
		}
	}
	if len(res.Runs) == 0 {
		return badInput(fmt.Errorf("%s holds no such run", dir), choices(all))
	}
	inside := f.trace != "" || f.stopAt != ""
	if inside && len(res.Runs) > 1 {
		return badInput(fmt.Errorf("--trace and --stop-at look at one run, and these are %d", len(res.Runs)), choices(res.Runs))
	}
	jobs, err := jobsAgain(dir, res)
	if err != nil {
		return err
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
	return f.look(ctx, dir, jobs[0], res.Runs[0], stdout, stderr)
}

// check refuses flags that cannot be.
func (f replayFlags) check() error {
	if f.format != "text" && f.format != "json" {
		return usage("unknown format "+quote(f.format), didYouMean(f.format, []string{"text", "json"}), "formats are text and json")
	}
	if f.format == "json" && f.stopAt == "" && f.trace != "-" {
		return usage("--format json is about what --stop-at and --trace - show")
	}
	if f.stopAt != "" {
		_, err := parseMoment(f.stopAt)
		return err
	}
	return nil
}

// jobsAgain makes a job of every run, in order.
func jobsAgain(dir suite.Dir, res results.Results) ([]suite.Job, error) {
	var jobs []suite.Job
	for i, r := range res.Runs {
		if r.Test != "" {
			return nil, badInput(fmt.Errorf("%s with %s was played by a go test, which has the lock", r.Scenario, r.Lock), "play it again with: "+r.Test)
		}
		if r.World != worldSim {
			return nil, badInput(fmt.Errorf("%s with %s was played in the %s world, where nothing happens twice", r.Scenario, r.Lock, r.World),
				"holdfast check judges its history again", "to play it once more: "+res.Command)
		}
		path := dir.File("scenarios", r.Scenario+".yaml")
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, badInput(err)
		}
		if _, err := scenarios.Parse(path, src); err != nil {
			return nil, badInput(err, "the run directory was changed since it was written")
		}
		jobs = append(jobs, suite.Job{ID: i, Scenario: r.Scenario, File: r.Scenario + ".yaml", Source: string(src), Lock: r.Lock, Seed: r.Seed})
	}
	return jobs, nil
}

// playAgain plays the jobs and compares hashes.
func (f replayFlags) playAgain(ctx context.Context, dir suite.Dir, res results.Results, jobs []suite.Job, stdout, stderr io.Writer) error {
	bar := newProgress(stderr, len(jobs))
	answers, err := workers.Pool{Workers: f.workers, Stall: time.Minute}.Gather(ctx, jobs, bar.step)
	bar.done()
	if err != nil {
		return defect(err)
	}
	differ, killed := 0, 0
	for i, a := range answers {
		r := res.Runs[i]
		switch {
		case a == nil:
			return &exitError{code: exitInterrupted, msg: "interrupted"}
		case a.Defect != "":
			differ++
			fmt.Fprintf(stdout, "failed     %s %s seed %d: %s\n", r.Scenario, r.Lock, r.Seed, a.Defect)
		case a.Killed:
			killed++
			fmt.Fprintf(stdout, "killed     %s %s seed %d: %s\n", r.Scenario, r.Lock, r.Seed, a.Run.Failure)
		case a.Run.HistorySHA256 != r.HistorySHA256:
			differ++
			fmt.Fprintf(stdout, "different  %s %s seed %d: %.12s, stored %.12s\n", r.Scenario, r.Lock, r.Seed, a.Run.HistorySHA256, r.HistorySHA256)
		default:
			fmt.Fprintf(stdout, "same       %s %s seed %d: %.12s\n", r.Scenario, r.Lock, r.Seed, r.HistorySHA256)
		}
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
