package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/rundir"
	"github.com/holdfast-go/holdfast/scenarios"
)

func newReplayCmd() *cobra.Command {
	var workers int
	c := &cobra.Command{
		Use:   "replay RUNDIR",
		Short: "Play again what a run directory holds, and compare the histories",
		Long: `Plays every run of RUNDIR again from its stored scenario and seed, and compares
the hash of the new history with the stored one. They are the same, to the bit,
for the same version of holdfast; exit code 4 when one is not. Exit code 2 when
a stored history is no longer what its run wrote, or was recorded on real
servers.`,
		Example: `  holdfast run holder-pause --lock reentrant --out pause
  holdfast replay pause`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := rundir.Dir(args[0])
			res, err := dir.ReadResults()
			if err != nil {
				return badInput(err, "a run directory is what holdfast run writes; it holds results.json")
			}
			var jobs []job
			for i, r := range res.Runs {
				if r.Test != "" {
					return badInput(fmt.Errorf("%s with %s was played by a go test, which has the lock", r.Scenario, r.Lock), "play it again with: "+r.Test)
				}
				if r.World != worldSim {
					return badInput(fmt.Errorf("%s with %s was played in the %s world, where nothing happens twice", r.Scenario, r.Lock, r.World),
						"holdfast check judges its history again", "to play it once more: "+res.Command)
				}
				src, err := os.ReadFile(dir.File("scenarios", r.Scenario+".yaml"))
				if err != nil {
					return badInput(err)
				}
				if _, err := scenarios.Parse(dir.File("scenarios", r.Scenario+".yaml"), src); err != nil {
					return badInput(err, "the run directory was changed since it was written")
				}
				jobs = append(jobs, job{ID: i, Scenario: r.Scenario, File: r.Scenario + ".yaml", Source: string(src), Lock: r.Lock, Seed: r.Seed})
			}
			if len(jobs) == 0 {
				return badInput(fmt.Errorf("%s holds no runs", dir))
			}
			if res.Version != version {
				fmt.Fprintf(c.ErrOrStderr(), "warning: stored by version %s, this is %s: histories may differ\n", res.Version, version)
			}
			answers := make([]*answer, len(jobs))
			bar := newProgress(c.ErrOrStderr(), len(jobs))
			err = pool{workers: workers, stall: time.Minute}.play(c.Context(), jobs, func(a answer) {
				answers[a.ID] = &a
				bar.step()
			})
			bar.done()
			if err != nil {
				return defect(err)
			}
			differ := 0
			for i, a := range answers {
				r := res.Runs[i]
				switch {
				case a == nil:
					return &exitError{code: exitInterrupted, msg: "interrupted"}
				case a.Defect != "":
					differ++
					fmt.Fprintf(c.OutOrStdout(), "failed     %s %s seed %d: %s\n", r.Scenario, r.Lock, r.Seed, a.Defect)
				case a.Run.HistorySHA256 != r.HistorySHA256:
					differ++
					fmt.Fprintf(c.OutOrStdout(), "different  %s %s seed %d: %.12s, stored %.12s\n", r.Scenario, r.Lock, r.Seed, a.Run.HistorySHA256, r.HistorySHA256)
				default:
					fmt.Fprintf(c.OutOrStdout(), "same       %s %s seed %d: %.12s\n", r.Scenario, r.Lock, r.Seed, r.HistorySHA256)
				}
			}
			if edited := dir.Edited(res); len(edited) > 0 && differ == 0 {
				return editedError(dir, edited)
			}
			if differ > 0 {
				return defect(fmt.Errorf("%d of %d runs did not give the stored history", differ, len(jobs)))
			}
			return nil
		},
	}
	c.Flags().IntVar(&workers, "workers", runtime.NumCPU(), "worker processes")
	return c
}
