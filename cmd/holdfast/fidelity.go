package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/selftest"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type fidelityFlags struct {
	locks   []string
	server  string
	backend string
	seed    uint64
	out     string
	format  string
	scale   float64
	workers int
}

func newFidelityCmd() *cobra.Command {
	var f fidelityFlags
	c := &cobra.Command{
		Use:   "fidelity [SCENARIO ...]",
		Short: "Play scenarios in both worlds, and show where they differ",
		Long: `Plays scenarios (default: all) against locks (--lock; default: all),
first in the simulator and then on real servers. It prints one matrix, with both
marks where the worlds disagree. Below it stands each difference, with the
explanation if there is one. The run directory has the runs and a report of each
world, in sim/ and live/. --backend names the program of another server, and
--server what it is: holdfast run --help has both.

Exit codes: 0 the worlds agree, or every difference is explained; 1 they do not;
2 bad usage or bad input; 3 some run has no verdict; 4 a defect of holdfast
itself; 130 interrupted.`,
		Example: `  holdfast selftest fidelity
  holdfast selftest fidelity holder-pause --lock reentrant,redlock
  holdfast selftest fidelity --server valkey-9.1 --backend ./valkey-server
  holdfast selftest fidelity --format markdown`,
		RunE: func(c *cobra.Command, args []string) error { return runFidelity(c, args, f) },
	}
	c.ValidArgs = scenarios.Names()
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "locks to play against, by name (default all)")
	c.Flags().StringVar(&f.server, "server", "", "the servers of both worlds, as they are offered, such as valkey-9.1")
	c.Flags().StringVar(&f.backend, "backend", servers.Redis, "live: redis (redis-server or valkey-server), or the path of a program")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of every run")
	c.Flags().StringVar(&f.out, "out", "", "run directory (default holdfast-runs/TIME)")
	formatFlag(c, &f.format, []string{"text", "markdown"}, "what to print: text or markdown")
	c.Flags().Float64Var(&f.scale, "time-scale", 0, "as in holdfast run")
	c.Flags().IntVar(&f.workers, "workers", 0, "as in holdfast run")
	complete(c, "lock", locks.Names())
	complete(c, "server", profile.Names())
	return c
}

func runFidelity(c *cobra.Command, args []string, f fidelityFlags) error {
	worlds := []string{worldSim, worldLive}
	var in []suite.Options
	for _, world := range worlds { // before anything runs in either world
		o, err := f.in(world).options(c, args)
		if err != nil {
			return err
		}
		if _, err := suite.NewPlan(c.Context(), o); err != nil {
			return notPlayed(err)
		}
		in = append(in, o)
	}
	dir, err := selftest.FidelityDir(f.out, worlds)
	if err != nil {
		return badOut(err)
	}
	var halves []*played
	for i, world := range worlds {
		in[i].Dir = dir.File(world)
		p, err := playRuns(c.Context(), in[i])
		if err != nil {
			return err
		}
		halves = append(halves, p)
		if c.Context().Err() != nil {
			return &exitError{code: exitInterrupted, msg: "interrupted in the " + world + " world; its report has what ran"}
		}
	}
	both, err := selftest.Compare(halves[0].results, halves[1].results, halves[0].doc.About)
	if err != nil {
		return defect(err)
	}
	if err := printDocument(c.OutOrStdout(), f.format, both); err != nil {
		return err
	}
	for _, p := range halves {
		fmt.Fprintf(c.ErrOrStderr(), "report: %s\n", p.dir.File("report.html"))
	}
	for _, p := range halves {
		if err := p.failure(c.ErrOrStderr()); err != nil {
			return err
		}
	}
	switch {
	case !both.AllExplained():
		return result(exitUnexpected)
	case both.Sim.Summary.Unknown+both.Live.Summary.Unknown > 0:
		return result(exitUnknown)
	}
	return nil
}

// in is the plan for a world.
func (f fidelityFlags) in(world string) runFlags {
	flags := runFlags{locks: f.locks, world: world, server: f.server, seed: f.seed, seeds: 1, format: "text", pool: poolFlags{f.workers, time.Minute}}
	if world == worldLive {
		flags.scale, flags.backend = f.scale, f.backend
	}
	return flags
}
