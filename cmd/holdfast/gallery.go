package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/selftest"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

type galleryFlags struct {
	scenarios []string
	explore   bool
	exhaust   bool
	trials    int
	seeds     int
	runs      int
	seed      uint64
	output    outputFlags
	pool      poolFlags
}

func newGalleryCmd() *cobra.Command {
	var f galleryFlags
	c := &cobra.Command{
		Use:   "gallery [MUTANT ...]",
		Short: "Play locks that are wrong on purpose, and show what kills each",
		Long: `Plays the locks of the gallery (or those named), each a built-in lock with one
mistake. It plays each in every scenario of the lock it is made from. A violated
property kills a mutant where the scenario expects its original to keep it. Unknown
kills nothing. The mutation score is the share of mutants killed.

A seed is one pass over the scenarios, and it is always played to its end, so that
the numbers of every killer count. A trial plays seed after seed until one has a
kill, or --seeds are played. Trials have different seeds. The table names, for each
mutant, the scenario and property that killed it in most seeds, and how many others
did. It has the median seeds, virtual time and real time until the first kill, run
by run in catalogue order on one core. A run that never ends, or takes its process
down, gives no verdict and kills nothing.

With --explore nothing of the catalogue is used: scenarios are drawn as holdfast
explore draws them. A mutant is found when it violates a property that its original
keeps in the very same scenario. It does so in at least four of eight seeds, with
faults in the same phases, and the original in none. A trial plays run after run
until one has a find, or --runs are played; run k has seed S + k, and S is
different for each trial. The table has how many trials had a find, the median
number of runs until then, and what was violated after which faults.

With --exhaustive, single faults are placed in a mutant at every moment of small
workloads, as holdfast explore --exhaustive does. A mutant is found when it violates
a property after faults after which its original never does. The table has the
number of that placement.

Exit codes: 0 every mutant killed or found; 1 one was not; 2 bad usage; 4 a defect of
holdfast itself; 130 interrupted.`,
		Example: `  holdfast selftest gallery
  holdfast selftest gallery set-without-nx --trials 20
  holdfast selftest gallery --scenario contention,reentrancy
  holdfast selftest gallery --explore
  holdfast selftest gallery --explore no-safety-poll --trials 20 --runs 5000
  holdfast selftest gallery --exhaustive
  holdfast selftest gallery --format markdown`,
		RunE: func(c *cobra.Command, args []string) error { return runGallery(c, args, f) },
	}
	c.ValidArgs = english.Words(locks.Mutants(), func(m gallery.Mutant) string { return m.Name })
	c.Flags().StringSliceVar(&f.scenarios, "scenario", nil, "scenarios to play, by name or file (default all)")
	c.Flags().BoolVar(&f.explore, "explore", false, "draw scenarios at random instead of playing those of the catalogue")
	c.Flags().BoolVar(&f.exhaust, "exhaustive", false, "place every single fault, up to the first find")
	c.Flags().IntVar(&f.trials, "trials", 5, "how often each mutant is looked for, with other seeds")
	c.Flags().IntVar(&f.seeds, "seeds", 10, "seeds after which a trial gives up")
	c.Flags().IntVar(&f.runs, "runs", 2000, "with --explore: runs after which a trial gives up")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the first seed")
	f.output.flags(c, "what to print", "")
	f.pool.flags(c, 20*time.Second)
	complete(c, "scenario", scenarios.Names())
	return c
}

func (f galleryFlags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	switch {
	case f.exhaust && (f.explore || slices.ContainsFunc([]string{"scenario", "trials", "seeds", "runs", "seed"}, given)):
		return usage("--exhaustive has no trials: only mutants, --format and the flags of workers go with it")
	case f.explore && (given("scenario") || given("seeds")):
		return usage("--explore draws its own scenarios: --scenario and --seeds do not go with it", "how long a trial looks is --runs")
	case f.output.html != "" && (f.explore || f.exhaust):
		return usage("--html does not go with --explore and --exhaustive: the page shows what kills a mutant in the catalogue")
	case !f.explore && given("runs"):
		return usage("--runs goes with --explore", "without it, how long a trial looks is --seeds")
	}
	return cmp.Or(between("--trials", f.trials, 1, 10_000), between("--seeds", f.seeds, 1, 1_000_000), between("--runs", f.runs, 1, selftest.FarApart),
		seeds(f.seed, f.trials*max(f.seeds, selftest.FarApart)), f.pool.check(), f.output.check())
}

type mutantRecord interface {
	document
	Alive() selftest.Alive
}

func runGallery(c *cobra.Command, args []string, f galleryFlags) error {
	if err := f.check(c); err != nil {
		return err
	}
	mutants, err := pickMutants(args)
	if err != nil {
		return err
	}
	play := f.hunt
	switch {
	case f.exhaust:
		play = f.place
	case f.explore:
		play = f.search
	}
	r, err := play(c, args, mutants)
	if nothing, ok := errors.AsType[*selftest.NothingToPlayError](err); ok {
		return usage(err.Error(), nothing.Why)
	} else if _, mine := errors.AsType[*exitError](err); err != nil && !mine {
		return defect(err)
	} else if err != nil {
		return err
	}
	if p, ok := r.(rendered); ok {
		err = f.output.print(c, p)
	} else {
		err = printDocument(c.OutOrStdout(), f.output.format, r)
	}
	if err != nil {
		return err
	}
	return concludeGallery(c, r.Alive())
}

// hunt plays the scenarios of the catalogue.
func (f galleryFlags) hunt(c *cobra.Command, args []string, mutants []gallery.Mutant) (mutantRecord, error) {
	list, err := pick(f.scenarios)
	if err != nil {
		return nil, err
	}
	hunts := selftest.Hunts{Mutants: mutants, Trials: f.trials, Seeds: f.seeds, Seed: f.seed, Command: repeat(c, args, "scenario", "trials=", "seeds=", "seed=")}
	for _, p := range list {
		hunts.Scenarios = append(hunts.Scenarios, suite.Job{Scenario: p.Scenario.Name, File: p.File, Source: string(p.Text)})
	}
	r, err := hunts.Play(c.Context(), f.pool.pool(), rounds(c.ErrOrStderr(), "playing"))
	return pages.Gallery{TrackRecord: r}, err
}

// search plays drawn scenarios.
func (f galleryFlags) search(c *cobra.Command, args []string, mutants []gallery.Mutant) (mutantRecord, error) {
	s := selftest.Searches{Mutants: mutants, Trials: f.trials, Runs: f.runs, Seed: f.seed, Command: repeat(c, args, "explore", "trials=", "runs=", "seed=")}
	return s.Play(c.Context(), f.pool.pool(), rounds(c.ErrOrStderr(), "searching"))
}

// place places every single fault.
func (f galleryFlags) place(c *cobra.Command, args []string, mutants []gallery.Mutant) (mutantRecord, error) {
	pool := f.pool.pool().Keeping()
	defer pool.Stop()
	progress, done := watchExplore(c, -1, "placing")
	defer done()
	return selftest.Placements{Mutants: mutants, Command: repeat(c, args, "exhaustive")}.Play(c.Context(), pool, progress)
}

func rounds(stderr io.Writer, what string) selftest.Progress {
	return func(runs, trials int) (step, done func()) {
		bar := terminal.Count(stderr, runs, fmt.Sprintf("%s, %s to go", what, english.Count(trials, "trial")))
		return bar.Step, bar.Done
	}
}

// pickMutants finds the mutants named on the command line; none means all.
func pickMutants(args []string) ([]gallery.Mutant, error) {
	list, err := selftest.PickMutants(args)
	var unknown *selftest.UnknownMutantError
	switch {
	case errors.As(err, &unknown):
		return nil, usage(err.Error(), didYouMean(unknown.Name, unknown.Known), "holdfast list mutants shows them all")
	case err != nil:
		return nil, usage(err.Error())
	}
	return list, nil
}

// concludeGallery prints the runs without a verdict to stderr. It returns an error after a
// defect or an interrupt, or if some mutants are still alive.
func concludeGallery(c *cobra.Command, a selftest.Alive) error {
	printSome(c.ErrOrStderr(), "no verdict", a.NoVerdict, 5)
	switch {
	case len(a.Defects) > 0:
		return ownDefects(c.ErrOrStderr(), a.Defects)
	case c.Context().Err() != nil:
		return &exitError{code: exitInterrupted, msg: "interrupted with " + a.Sofar}
	case len(a.Names) > 0:
		return &exitError{code: exitUnexpected, msg: fmt.Sprintf("%s %s: %s", english.Count(len(a.Names), "mutant"), a.Status, strings.Join(a.Names, ", ")), hints: a.Hints}
	}
	return nil
}
