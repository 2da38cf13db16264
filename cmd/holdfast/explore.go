package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/explore/draw"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type exploreFlags struct {
	lock       string
	seed       uint64
	runs       int
	time       time.Duration
	all        bool
	faults     []string
	without    []string
	survivable bool
	known      string
	shrink     bool
	catalogue  bool
	shard      string
	out        string
	output     outputFlags
	pool       poolFlags
	exhaustive bool
	base       string
	depth      int
	resume     bool
	adapter    string

	part suite.Shard // the parsed shard
}

func newExploreCmd() *cobra.Command {
	var f exploreFlags
	c := &cobra.Command{
		Use:   "explore --lock LOCK",
		Short: "Draw scenarios at random, and find what goes wrong with a lock",
		Long: `Draws clients, times, topologies and faults from a seed, plays them in the
simulated world, and judges what happened. It gets no hints. Each run
leaves out a random half of the faults. It aims the others at a time, or at a
moment such as between execution and reply of an acquire. Combinations of a fault
and a phase of an operation that have not come yet are preferred.

It stops at the first violation, or with --all at the end of --runs or --time.
It then shrinks every find as holdfast shrink does, and tells its story. Two finds
differ in the violated property or in the remaining faults. Run k plays seed
--seed + k. The directory of the results holds explore.json. Below finds/ it has,
for each find, the first run and the shrunk one, each with scenario and history.
The shrunk run also has a story and a test. holdfast run replays such a scenario.

With --exhaustive it derives small workloads from the claims of the lock, or takes
--base. It plays every single fault at every moment of them, and with --depth 2
every pair of faults. Rules leave out what cannot matter, and an audit plays 1 in
100 of that: a difference is a defect of holdfast. --resume goes on after an
interruption. A base whose name ends with -careful has a careful user, who stops
when the validity of a hold is over. Built-in locks play it only if --base names it.

With --shard I/N it plays every Nth run, so that N machines share the work, and
holdfast merge joins their results.

Exit codes: 0 nothing found; 1 some violation; 2 bad usage or bad input; 3 no
run could be judged; 4 a defect of holdfast itself; 130 interrupted.`,
		Example: `  holdfast explore --lock set-px-lua
  holdfast explore --lock reentrant --all --time 60s --out found
  holdfast explore --lock reentrant --survivable --runs 100000 --time 1h
  holdfast explore --lock redlock --faults partition,clock-jump --shard 2/8 --out shard-2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runExplore(c, f) },
	}
	c.Flags().StringVar(&f.lock, "lock", "", "the lock to explore, by name")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the seed of the first run")
	c.Flags().IntVar(&f.runs, "runs", 0, "how many runs to play, of all shards together (default: as many as --time allows)")
	c.Flags().DurationVar(&f.time, "time", 0, "how long to play, in real time (default 60s, or as long as --runs take)")
	c.Flags().BoolVar(&f.all, "all", false, "do not stop at the first violation")
	c.Flags().StringSliceVar(&f.faults, "faults", nil, "faults that may come, by name (default all)")
	c.Flags().StringSliceVar(&f.without, "without", nil, "faults that must not come")
	c.Flags().BoolVar(&f.survivable, "survivable", false, "only what the reference lock should survive: no lost data, no moved clocks, no pause past a lease")
	c.Flags().StringVar(&f.known, "known", "", "explore.json whose causes are known: they are counted, and are no find")
	c.Flags().BoolVar(&f.shrink, "shrink", true, "make every find as small as it can be")
	c.Flags().BoolVar(&f.catalogue, "catalogue", false, "list the hazards of the catalogue that the exploration found")
	c.Flags().BoolVar(&f.exhaustive, "exhaustive", false, "place every single fault at every moment of small workloads")
	c.Flags().StringVar(&f.base, "base", "", "with --exhaustive: the workload, by name (default all)")
	c.Flags().IntVar(&f.depth, "depth", 1, "with --exhaustive: how many faults a run has; 2 needs --base")
	c.Flags().BoolVar(&f.resume, "resume", false, "with --exhaustive: go on with what was interrupted in --out")
	c.Flags().StringVar(&f.adapter, "adapter", "", "refused: adapters play on real servers, with holdfast run")
	c.Flags().StringVar(&f.shard, "shard", "1/1", "which part of the runs to play, as I/N")
	c.Flags().StringVar(&f.out, "out", "", "directory for the results and the finds (default holdfast-runs/TIME)")
	f.output.flags(c, "what to print", " (default explore.html or exhaustive.html in --out)", "sarif")
	f.pool.flags(c, 20*time.Second)
	complete(c, "lock", locks.Names())
	complete(c, "base", exhaustive.Names())
	complete(c, "faults", draw.Names())
	complete(c, "without", draw.Names())
	return c
}

func (f *exploreFlags) check(c *cobra.Command) error {
	if f.lock == "" {
		return usage("explore needs --lock", "holdfast list locks shows which there are")
	}
	given := c.Flags().Changed
	if given("time") && f.time <= 0 {
		return usage("--time must be above 0")
	}
	if !given("runs") && !given("time") {
		f.time = time.Minute
	}
	runs := f.runs
	if !given("runs") {
		runs = 1
	}
	var err error
	f.part, err = parseShard(f.shard)
	return cmp.Or(between("--runs", runs, 1, 1_000_000_000), seeds(f.seed, f.runs), err, f.pool.check(), f.output.check())
}

func runExplore(c *cobra.Command, f exploreFlags) error {
	if err := cmp.Or(f.check(c), f.checkExhaustive(c)); err != nil {
		return err
	}
	if f.adapter != "" {
		return usage("--adapter is for holdfast run: exploring plays in virtual time, which other processes do not have",
			"a lock in Go is explored with locktest.Explore and locktest.Exhaust: see docs/test-your-own-lock.md")
	}
	l, err := locks.Find(f.lock)
	if err != nil {
		return usage(err.Error(), didYouMean(f.lock, locks.Names()), "holdfast list locks shows which there are")
	}
	v, err := draw.NewVocabulary(f.faults, f.without, f.survivable)
	if err != nil {
		hint := ""
		for _, name := range slices.Concat(f.faults, f.without) {
			if !slices.Contains(draw.Names(), name) {
				hint = didYouMean(name, draw.Names())
				break
			}
		}
		return usage(err.Error(), hint, "holdfast list faults shows which there are")
	}
	o := explore.Options{
		Lock: f.lock, Seed: f.seed, Runs: f.runs, Time: f.time, All: f.all, Shard: f.part, Vocabulary: v, Shrink: f.shrink, Catalogue: f.catalogue,
		Command: repeat(c, nil, "lock=", "seed=", "runs", "time", "all", "faults", "without", "survivable", "shrink", "catalogue", "known", "shard"),
	}
	if f.known != "" {
		if o.Known, err = explore.ReadKnown(f.known); err != nil {
			return badInput(err, "--known takes the explore.json of another exploration")
		}
	}
	f.out = cmp.Or(f.out, suite.Unused())
	if f.exhaustive {
		pool := f.pool.pool().Keeping()
		defer pool.Stop()
		return playExhaustive(c, f, exhaustive.Options{Lock: l, Users: suite.BothUsers, Base: f.base, Depth: f.depth, Faults: v.Faults, Shard: f.part, Runner: pool})
	}
	return playExplore(c, f, o)
}

func playExplore(c *cobra.Command, f exploreFlags, o explore.Options) error {
	pool := f.pool.pool().Keeping()
	defer pool.Stop()
	out, err := openOut(f.out, explore.Kind.Directory())
	if err != nil {
		return err
	}
	o.Runner = pool
	x, dir := explore.New(o), suite.Dir(f.out)
	total := -1 // without --runs the total is unknown
	if f.runs > 0 {
		total = x.Total()
	}
	progress, done := watchExplore(c, total, "exploring")
	r, err := x.Play(c.Context(), progress)
	done()
	if err != nil {
		return defect(err)
	}
	progress, done = watchExplore(c, -1, "shrinking")
	r, stored := x.Store(c.Context(), out, dir, r, progress)
	done()
	if err := f.output.printStored(c, dir.File(explore.Kind.Page()), stored, pages.Exploration{Results: r, Dir: dir, Tell: !f.all}); err != nil {
		return err
	}
	return concludeExplore(c, r, dir)
}

func watchExplore(c *cobra.Command, total int, what string) (progress func(string), done func()) {
	bar := terminal.Count(c.ErrOrStderr(), total, what)
	return func(now string) {
		bar.Now(now)
		bar.Step()
	}, bar.Done
}

// concludeExplore returns the error that ends the command, nil for success.
func concludeExplore(c *cobra.Command, r explore.Results, dir suite.Dir) error {
	finds := explore.Finds(r.Causes)
	switch {
	case len(r.Defects) > 0:
		return ownDefects(c.ErrOrStderr(), r.Defects)
	case c.Context().Err() != nil:
		return &exitError{code: exitInterrupted, msg: "interrupted after " + english.Count(r.Runs, "run")}
	case len(finds) > 0:
		return &exitError{code: exitUnexpected, msg: english.Count(len(finds), "hazard") + " found, kept in " + string(dir)}
	case r.Runs == r.Unknown+r.Violated && r.Violated == 0:
		return &exitError{code: exitUnknown, msg: "no run could be judged"}
	}
	return nil
}
