package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/play/liveplay"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type runFlags struct {
	locks    []string
	world    string
	backend  string
	seed     uint64
	seeds    int
	out      string
	format   string
	pool     poolFlags
	scale    float64
	external externalServers
	adapter  []string
	user     string
	server   string
	accept   string
	outputs  report.Outputs
}

// The worlds that a scenario can be played in.
const (
	worldSim  = "sim"
	worldLive = "live"
)

func newRunCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SCENARIO ...]",
		Short: "Play scenarios against locks, print the matrix, write the report",
		Long: `Plays every scenario (or those named) against every built-in lock it applies to (or
those of --lock), judges the histories, and prints the matrix. It writes a run
directory with results.json, report.html, the scenarios and the histories.

A SCENARIO is the name of a built-in one, or a file: anything with a slash, or
that ends in .yaml or .yml.

A run passes when every verdict is the one its scenario argues for. So a textbook
lock that overlaps under a pause, as expected, is a pass. Some of the runs are
played twice, in other processes, and must give the same history.

Exit codes: 0 every verdict as expected; 1 some verdict not; 2 bad usage or bad
input; 3 some verdict unknown; 4 a defect of holdfast itself; 130 interrupted.`,
		Example: `  holdfast run
  holdfast run holder-pause failover-lost-write --lock reentrant,fenced
  holdfast run ./mine.yaml --lock set-px-lua --seeds 100
  holdfast run --server dragonfly --lock reentrant
  holdfast run --format json | jq .summary
  holdfast run --accept accepted.yaml --junit junit.xml
  holdfast run --world live --redis redis://127.0.0.1:6379 holder-pause
  holdfast run --world live --adapter adapters/node/holdfast-node-redlock`,
		RunE: func(c *cobra.Command, args []string) error { return runScenarios(c, args, f) },
	}
	c.ValidArgs = scenarios.Names()
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "locks to play against, by name; all is the built-in ones (default all, or those of --adapter)")
	c.Flags().StringVar(&f.world, "world", worldSim, "where to play: sim (virtual time) or live (real servers and processes, real time)")
	c.Flags().StringVar(&f.server, "server", "", "the servers as they are offered, such as valkey-9.1 (default redis-7, or the first that a lock can use); live: what the program of --backend is")
	c.Flags().StringVar(&f.backend, "backend", liveplay.AutoBackend, "live: what the servers are, redis (redis-server or valkey-server), miniredis or the path of a program; auto is redis where it is installed")
	f.external.flags(c)
	c.Flags().StringArrayVar(&f.adapter, "adapter", nil, "live: the command of a worker process that has locks of its own, which are then played; may be given several times")
	c.Flags().StringVar(&f.user, "user", suite.BothUsers, "with --adapter: the kind of user, careful, careless or both, in scenarios that name none")
	c.Flags().Float64Var(&f.scale, "time-scale", 0, "live: what every time of a scenario is multiplied with (default 0.2; 1.5 where servers have to fail over)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the first run of each cell")
	c.Flags().IntVar(&f.seeds, "seeds", 1, "how many seeds to play, counting up from --seed")
	c.Flags().StringVar(&f.out, "out", "", "run directory (default holdfast-runs/TIME)")
	formatFlag(c, &f.format, []string{"text", "json", "junit", "sarif", "markdown"}, "what to print: text, json, junit, sarif or markdown")
	c.Flags().StringVar(&f.accept, "accept", "", "a YAML file of accepted violations: one that it does not have fails, and one that no run shows fails too")
	c.Flags().StringVar(&f.outputs.JUnit, "junit", "", "also write JUnit XML to this file")
	c.Flags().StringVar(&f.outputs.Markdown, "markdown", "", "also write Markdown to this file")
	c.Flags().IntVar(&f.pool.workers, "workers", 0, "runs at a time (default one per core; live: three per core)")
	c.Flags().DurationVar(&f.pool.stall, "stall", time.Minute, "sim: processor time after which a run that does not end is given up")
	complete(c, "lock", locks.Names())
	complete(c, "world", []string{worldSim, worldLive})
	complete(c, "server", profile.Names())
	complete(c, "user", suite.UserChoices())
	complete(c, "backend", liveplay.Backends())
	return c
}

func runScenarios(c *cobra.Command, args []string, f runFlags) error {
	o, err := f.options(c, args)
	if err != nil {
		return err
	}
	p, err := playRuns(c.Context(), o)
	if err != nil {
		return err
	}
	return p.conclude(c, f)
}

func (f runFlags) options(c *cobra.Command, args []string) (o suite.Options, err error) {
	f = f.withDefaults()
	if err := f.check(); err != nil {
		return o, err
	}
	o = suite.Options{Scenarios: args, Locks: f.locks, Seed: f.seed, Seeds: f.seeds, Users: f.user, Server: f.server, Dir: cmp.Or(f.out, suite.Unused()), Made: madeNow()}
	if f.accept != "" {
		if o.Accepted, err = readAccepted(f.accept); err != nil {
			return o, err
		}
	}
	progress := func(jobs int) suite.Progress { return terminal.Count(c.ErrOrStderr(), jobs, "playing") }
	o.World = suite.Sim{Runner: f.pool.pool(), Progress: progress}
	if f.world == worldLive {
		exe, err := workers.Self()
		if err != nil {
			return o, defect(err)
		}
		w := &liveplay.World{Scale: f.scale, Client: []string{exe, "client"}, Workers: f.pool.workers, Adapters: f.adapter, AdapterStart: adapterStart, Accepts: o.Accepted.Accepts, Progress: progress}
		if w.Backend, err = f.servers(c.Context(), c.ErrOrStderr()); err != nil {
			return o, err
		}
		if f.backend == liveplay.AutoBackend {
			f.backend = w.Backend.Name()
		}
		o.World = w
	}
	o.Command = runCommand(args, f)
	return o, nil
}

// withDefaults sets the defaults that depend on other flags.
func (f runFlags) withDefaults() runFlags {
	f.user = cmp.Or(f.user, suite.BothUsers)
	if f.pool.workers == 0 {
		f.pool.workers = runtime.NumCPU()
		if f.world == worldLive { // which mostly waits
			f.pool.workers *= 3
		}
	}
	return f
}

func (f runFlags) check() error {
	if f.world != worldSim && f.world != worldLive {
		return usage(fmt.Sprintf("unknown world %q", f.world), "the worlds are sim and live")
	}
	if f.world == worldLive {
		if err := needLinux("--world live"); err != nil {
			return err
		}
	}
	if f.scale < 0 || f.scale > 10 {
		return usage("--time-scale must be above 0 and at most 10")
	}
	if f.scale != 0 && f.world != worldLive {
		return usage("--time-scale is for --world live; simulated time costs nothing")
	}
	if err := f.checkBackend(); err != nil {
		return err
	}
	if err := cmp.Or(between("--seeds", f.seeds, 1, 1_000_000), seeds(f.seed, f.seeds), f.pool.check(), checkFiles("--junit", f.outputs.JUnit), checkFiles("--markdown", f.outputs.Markdown)); err != nil {
		return err
	}
	if f.server != "" && f.world != worldSim && !liveplay.IsProgram(f.backend) {
		return usage("--server is for --world sim: it changes no real server", "in --world live it says what the program of --backend PATH is; --redis plays on servers of your own")
	}
	if len(f.adapter) > 0 && f.world != worldLive {
		return usage("--adapter is for --world live: virtual time has no other processes", "a lock in Go runs in virtual time with package locktest: see docs/test-your-own-lock.md")
	}
	if err := suite.CheckUsers(f.user); err != nil {
		return usage(err.Error())
	}
	if f.user != suite.BothUsers && len(f.adapter) == 0 {
		return usage("--user is for locks of --adapter: built-in locks are played with the user of the scenario")
	}
	if i := slices.IndexFunc(f.locks, func(l string) bool { return strings.Contains(l, "+") }); i >= 0 && f.world != worldLive {
		return usage(fmt.Sprintf("--lock %s: two locks are mixed in --world live only, in processes of their own", f.locks[i]))
	}
	return nil
}

func readAccepted(path string) (suite.Accepted, error) {
	l, err := suite.ReadAccepted(path)
	if err != nil {
		return l, badInput(err, "docs/ci.md has an example of a list of accepted violations")
	}
	return l, nil
}

func runCommand(args []string, f runFlags) string {
	again := append(commandLine{"holdfast", "run"}, args...)
	again.flag(len(f.locks) > 0, "--lock", strings.Join(f.locks, ","))
	again.flag(f.world != worldSim, "--world", f.world)
	again.flag(f.world == worldLive && !f.external.given(), "--backend", f.backend)
	again.flag(f.server != "", "--server", f.server)
	again.flag(f.scale != 0, "--time-scale", fmt.Sprint(f.scale))
	own, _ := servers.ParseAddresses(f.external.addresses) // they have been read before
	again = append(again, f.external.guest.Words(own)...)  // without names and passwords
	for _, a := range f.adapter {
		again.flag(true, "--adapter", "'"+a+"'")
	}
	again.flag(f.user != suite.BothUsers, "--user", f.user)
	again.flag(f.accept != "", "--accept", f.accept)
	again.flag(true, "--seed", fmt.Sprint(f.seed))
	again.flag(f.seeds > 1, "--seeds", fmt.Sprint(f.seeds))
	return again.String()
}
