package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/internal/search/sweep"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios"
)

type sweepFlags struct {
	lock       string
	adapter    []string
	over       []string
	seed       uint64
	seeds      int
	shard      string
	bisect     bool
	resolution time.Duration
	out        string
	output     outputFlags
	pool       poolFlags
}

func newSweepCmd() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Measure how likely a hazard is, over a range of one or two parameters",
		Long: `Plays a scenario with many seeds at every value of a parameter, or of two. It
counts the runs in which two owners held the lock at once, and those that lost an
update. It prints each probability with its 95 % interval. Where overlaps begin is
then found by bisection.

A SCENARIO is the name of a built-in one, or a file. Made for sweeps are
` + strings.Join(sweep.Names(), " and ") + `: their fault comes at a moment that the
seed draws ("within" in a scenario). In most scenarios of the catalogue it comes
at the worst moment, so that the probability is 0 or 1.

Parameters:
` + paramList() + `
The same seeds are played at every value. A run that may have
overlapped counts as unknown: it is in no probability.

With --adapter the lock is one of a worker process, and real servers play in real
time, as in holdfast run --world live. A handful of --seeds is enough there.

With --out a directory gets sweep.json, the picture sweep.svg and the page
sweep.html. With --shard I/N only part I of N of the seeds is played, and where
overlaps begin is not looked for.

Exit codes: 0 it was played; 2 bad usage or bad input; 3 a value at which no run
could be judged, or a run that could not be played; 4 a defect of holdfast itself; 130 interrupted.`,
		Example: `  holdfast sweep failover-at-random --lock reentrant --over lag=1ms~500ms:10
  holdfast sweep pause-at-random --lock reentrant --over pause=5s..12s:8 --seeds 500 --out swept
  holdfast sweep pause-at-random --lock reentrant --over pause=4s..16s:7 --over lease=6s..15s:4
  holdfast sweep failover-at-random --lock reentrant --over lag=5ms --seeds 20000
  holdfast sweep client-clock-jumps-while-waiting --lock redis-semaphore-permits --adapter adapters/node/holdfast-node-redlock --over clock-jump=2s..14s:7 --seeds 3 --resolution 250ms`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runSweep(c, args[0], f) },
	}
	c.ValidArgs = append(sweep.Names(), scenarios.Names()...)
	c.Flags().StringVar(&f.lock, "lock", "reentrant", "the lock to play against, by name")
	c.Flags().StringArrayVar(&f.adapter, "adapter", nil, "the command of a worker process that has the lock, as in holdfast run")
	c.Flags().StringArrayVar(&f.over, "over", nil, "what to sweep: PARAM=FROM..TO:STEPS, PARAM=FROM~TO:STEPS (steps of the same ratio) or PARAM=VALUE,VALUE; may be given twice")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the first seed")
	c.Flags().IntVar(&f.seeds, "seeds", 200, "how many seeds to play at every value, counting up from --seed")
	c.Flags().StringVar(&f.shard, "shard", "", "play part I of N of the seeds, as I/N")
	c.Flags().BoolVar(&f.bisect, "bisect", true, "look for where overlaps begin")
	c.Flags().DurationVar(&f.resolution, "resolution", 0, "how close to look, for a parameter that is a time (default half a percent)")
	c.Flags().StringVar(&f.out, "out", "", "directory for the result, the picture and the page (default: the result is only printed)")
	f.output.flags(c, "what to print", ", as --out does")
	f.pool.flags(c, time.Minute)
	complete(c, "lock", playable())
	return c
}

func paramList() string {
	var b strings.Builder
	for _, p := range sweep.Params() {
		fmt.Fprintf(&b, "  %-12s%s\n", p.Name, p.Summary)
	}
	return b.String()
}

func (f sweepFlags) check() error {
	if f.resolution < 0 {
		return usage("--resolution must be above 0")
	}
	return cmp.Or(between("--seeds", f.seeds, 1, 10_000_000), seeds(f.seed, f.seeds), f.pool.check(), f.output.check())
}

func runSweep(c *cobra.Command, arg string, f sweepFlags) error {
	o, err := f.options(c, arg)
	if err != nil {
		return err
	}
	var out *disk.Dir
	if f.out != "" {
		if out, err = openOut(f.out, sweep.Kind.Directory()); err != nil {
			return err
		}
	}
	p, err := sweep.Play(c.Context(), o)
	if err != nil {
		return defect(err)
	}
	if out == nil {
		err = f.output.print(c, pages.Sweep{Result: p.Result})
	} else {
		dir := suite.Dir(f.out)
		err = f.output.printStored(c, dir.File(sweep.Kind.Page()), sweep.Kind.Put(out, dir, p.Result), pages.Sweep{Result: p.Result})
	}
	if err != nil {
		return err
	}
	return concludeSweep(c, p)
}

func (f sweepFlags) options(c *cobra.Command, arg string) (o sweep.Options, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	part, err := parseShard(f.shard)
	if err != nil {
		return o, err
	}
	if part.Size(f.seeds) < 1 {
		return o, usage(fmt.Sprintf("--shard %s has no seed: there are %d", f.shard, f.seeds), "play more with --seeds, or split them into fewer parts")
	}
	p, err := pickSwept(arg)
	if err != nil {
		return o, err
	}
	world, runner, err := f.world(c)
	if err != nil {
		return o, err
	}
	locks, err := world.Locks(c.Context(), []string{f.lock})
	if err != nil {
		return o, notPlayed(err)
	}
	if len(locks) != 1 {
		return o, usage("--lock takes one lock", "sweep them one after the other")
	}
	plan, err := sweep.NewPlan(p.Scenario, f.over)
	if err != nil {
		return o, badInput(err)
	}
	for _, at := range plan.Points() {
		s, err := plan.At(at)
		if err != nil {
			return o, badInput(err)
		}
		ok, why := s.Applies(locks[0])
		if ok {
			if why, err = world.Lacks(s, locks[0]); err != nil {
				return o, badInput(err)
			}
		}
		if why != "" {
			return o, usage(fmt.Sprintf("%s cannot be played with %s: %s", s.Name, f.lock, why))
		}
	}
	return sweep.Options{
		Plan: plan, File: p.File, Over: f.over, Lock: f.lock, Seed: f.seed, Seeds: f.seeds, Shard: part,
		Bisect: f.bisect, Resolution: sweep.Value(f.resolution), Command: repeat(c, []string{arg}, "lock=", "adapter", "over", "resolution", "seed", "seeds="),
		Runner: runner,
		Watch: func(runs int) (step, done func()) {
			bar := terminal.Count(c.ErrOrStderr(), runs, "playing")
			return bar.Step, bar.Done
		},
	}, nil
}

// world is where the lock is played, and what plays it there.
func (f sweepFlags) world(c *cobra.Command) (suite.World, suite.Streamer, error) {
	if len(f.adapter) == 0 {
		return suite.Sim{}, f.pool.pool(), nil
	}
	if err := needLinux("--adapter"); err != nil {
		return nil, nil, err
	}
	live := runFlags{world: worldLive, backend: servers.Redis}
	backend, err := live.servers(c.Context(), c.ErrOrStderr())
	w := &liveplay.World{Backend: backend, Workers: f.pool.workers, Adapters: f.adapter, AdapterStart: adapterStart}
	return w, liveplay.Runner{World: w}, err
}

// pickSwept finds the scenario named on the command line.
func pickSwept(arg string) (suite.Source, error) {
	if slices.Contains(sweep.Names(), arg) {
		src, err := sweep.Source(arg)
		if err != nil {
			return suite.Source{}, defect(err)
		}
		s, err := scenarios.Parse(arg+".yaml", src)
		if err != nil {
			return suite.Source{}, defect(err)
		}
		return suite.Source{Scenario: s, File: arg + ".yaml", Text: src}, nil
	}
	list, err := pick([]string{arg})
	if err != nil {
		if near := scenarios.Nearest(arg, sweep.Names()); len(near) > 0 {
			return suite.Source{}, badInput(errors.New(err.Error()), "did you mean "+strings.Join(near, ", ")+"?")
		}
		return suite.Source{}, err
	}
	return list[0], nil
}

// concludeSweep returns the error that ends the command, nil for success.
func concludeSweep(c *cobra.Command, p *sweep.Played) error {
	if len(p.Defects) > 0 {
		return ownDefects(c.ErrOrStderr(), p.Defects)
	}
	if c.Context().Err() != nil {
		return &exitError{code: exitInterrupted, msg: "interrupted; the result has what was played"}
	}
	if p.Killed > 0 {
		return &exitError{code: exitUnknown, msg: fmt.Sprintf("%s left out: the worker process was killed from outside, twice", english.Count(p.Killed, "run")), hints: []string{workers.KilledHint}}
	}
	for _, at := range p.Points {
		if at.Overlap.High == 1 && at.Overlap.Low == 0 {
			return &exitError{code: exitUnknown, msg: "no run could be judged at " + strings.Join(at.At, ", "),
				hints: []string{"to see why, play one of them with holdfast run: a fault that does not strike, or a lock that is never granted"}}
		}
	}
	return nil
}
