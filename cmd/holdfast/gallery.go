package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
	"github.com/holdfast-go/holdfast/subject/gallery"
)

// galleryFlags are the flags of "holdfast gallery".
type galleryFlags struct {
	scenarios []string
	explore   bool
	trials    int
	seeds     int
	runs      int
	seed      uint64
	format    string
	workers   int
	stall     time.Duration
}

func newGalleryCmd() *cobra.Command {
	var f galleryFlags
	c := &cobra.Command{
		Use:   "gallery [MUTANT ...]",
		Short: "Play locks that are wrong on purpose, and show what catches each",
		Long: `Plays the locks of the gallery (or those named), each a built-in lock with one
mistake, against every scenario that the lock it is made from is played with. A
mutant is caught when a property comes out violated that the scenario expects
its original to keep. Unknown catches nothing.

A seed is one pass over the scenarios, and it is always played to its end, so
that the numbers of every catcher count. A trial plays seed after seed until
one has a catch, or --seeds are played. Trials have different seeds. The table
has, for each mutant, the scenario and property that caught it in most seeds,
how many others did, the median number of seeds until the first catch, and the
median virtual and real time until then, counted run by run in the order of the
catalogue on one core. A run that never ends, or takes its process down, gives
no verdict and catches nothing.

With --explore nothing of the catalogue is used: scenarios are drawn as
holdfast explore draws them. A mutant is found when it violates a property that
its original keeps in the very same scenario: the mutant in four of eight seeds
at least, with the faults striking in the same phases, the original in none. A
trial plays run after run until one has a find, or --runs are played;
run k has seed S + k, and S is different for each trial. The table has how many
trials had a find, the median number of runs until then, and what was violated
after which faults.

Exit codes: 0 every mutant caught or found; 1 one was not; 2 bad usage; 4 a defect of
holdfast itself; 130 interrupted.`,
		Example: `  holdfast gallery
  holdfast gallery set-without-nx --trials 20
  holdfast gallery --scenario contention,reentrancy
  holdfast gallery --explore
  holdfast gallery --explore no-safety-poll --trials 20 --runs 5000
  holdfast gallery --format markdown`,
		RunE: func(c *cobra.Command, args []string) error { return runGallery(c, args, f) },
	}
	for _, m := range subject.Mutants() {
		c.ValidArgs = append(c.ValidArgs, m.Name)
	}
	c.Flags().StringSliceVar(&f.scenarios, "scenario", nil, "scenarios to play, by name or file (default all)")
	c.Flags().BoolVar(&f.explore, "explore", false, "draw scenarios at random instead of playing those of the catalogue")
	c.Flags().IntVar(&f.trials, "trials", 5, "how often each mutant is looked for, with other seeds")
	c.Flags().IntVar(&f.seeds, "seeds", 10, "seeds after which a trial gives up")
	c.Flags().IntVar(&f.runs, "runs", 2000, "with --explore: runs after which a trial gives up")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the first seed")
	c.Flags().StringVar(&f.format, "format", "text", "what to print: text, json or markdown")
	c.Flags().IntVar(&f.workers, "workers", runtime.NumCPU(), "worker processes")
	c.Flags().DurationVar(&f.stall, "stall", 20*time.Second, "real time after which a run that does not end is given up")
	complete(c, "scenario", scenarios.Names())
	complete(c, "format", tableFormats)
	return c
}

func (f galleryFlags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	switch {
	case f.explore && (given("scenario") || given("seeds")):
		return usage("--explore draws its own scenarios: --scenario and --seeds do not go with it", "how long a trial looks is --runs")
	case !f.explore && given("runs"):
		return usage("--runs goes with --explore", "without it, how long a trial looks is --seeds")
	}
	if f.trials < 1 || f.trials > 10_000 {
		return usage("--trials must be from 1 to 10000")
	}
	if f.seeds < 1 || f.seeds > 1_000_000 {
		return usage("--seeds must be from 1 to 1000000")
	}
	if f.runs < 1 || f.runs > farApart {
		return usage("--runs must be from 1 to 1000000")
	}
	if err := checkWorkers(f.workers, f.stall); err != nil {
		return err
	}
	return checkFormat(f.format, tableFormats)
}

func runGallery(c *cobra.Command, args []string, f galleryFlags) error {
	if err := f.check(c); err != nil {
		return err
	}
	mutants, err := pickMutants(args)
	if err != nil {
		return err
	}
	if f.explore {
		return searchGallery(c, args, mutants, f)
	}
	list, err := pick(f.scenarios)
	if err != nil {
		return err
	}
	hunts, err := planHunts(mutants, list, f)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := playHunts(c.Context(), hunts, f, c.ErrOrStderr()); err != nil {
		return defect(err)
	}
	r := newRecord(hunts, galleryCommand(args, f))
	r.WallMS = float64(time.Since(began).Milliseconds())
	if err := printTable(c.OutOrStdout(), f.format, r); err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	return concludeGallery(c, r)
}

// pickMutants finds the mutants named on the command line; none means all.
func pickMutants(args []string) ([]gallery.Mutant, error) {
	all := subject.Mutants()
	if len(args) == 0 {
		return all, nil
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	var list []gallery.Mutant
	for i, arg := range args {
		j := slices.Index(names, arg)
		if j < 0 {
			return nil, usage(fmt.Sprintf("unknown mutant %q", arg), didYouMean(arg, names), "holdfast list mutants shows them all")
		}
		if slices.Index(args, arg) < i {
			return nil, usage(fmt.Sprintf("mutant %s is given twice", arg))
		}
		list = append(list, all[j])
	}
	return list, nil
}

// concludeGallery says on stderr what was not caught, and how the command ends.
func concludeGallery(c *cobra.Command, r *trackRecord) error {
	stderr := c.ErrOrStderr()
	printSome(stderr, "no verdict", r.NoVerdict, 5)
	if len(r.Defects) > 0 {
		return ownDefects(stderr, r.Defects)
	}
	if c.Context().Err() != nil {
		return &exitError{code: exitInterrupted, msg: fmt.Sprintf("interrupted with %s of %d caught", english.Count(r.Summary.Caught, "mutant"), r.Summary.Mutants)}
	}
	if r.Summary.Survived == 0 {
		return nil
	}
	var survivors, hints []string
	for _, m := range r.Mutants {
		if m.Status == survived {
			survivors = append(survivors, m.Name)
			hints = append(hints, fmt.Sprintf("no scenario shows what is wrong with %s: %s", m.Name, m.Mistake))
			if len(m.Unknown) > 0 {
				hints = append(hints, fmt.Sprintf("of %s, %s came out unknown, which catches nothing", m.Name, m.Unknown[0]))
			}
		}
	}
	hints = append(hints, "a mutant that survives is a hole in the catalogue or in a property; more --seeds may show a rare one")
	return &exitError{code: exitUnexpected, msg: fmt.Sprintf("%s survived: %s", english.Count(len(survivors), "mutant"), strings.Join(survivors, ", ")), hints: hints}
}

// galleryCommand is how to do the same again.
func galleryCommand(args []string, f galleryFlags) string {
	words := append([]string{"holdfast", "gallery"}, args...)
	if len(f.scenarios) > 0 {
		words = append(words, "--scenario", strings.Join(f.scenarios, ","))
	}
	if f.explore {
		return strings.Join(append(words, "--explore", "--trials", fmt.Sprint(f.trials), "--runs", fmt.Sprint(f.runs), "--seed", fmt.Sprint(f.seed)), " ")
	}
	return strings.Join(append(words, "--trials", fmt.Sprint(f.trials), "--seeds", fmt.Sprint(f.seeds), "--seed", fmt.Sprint(f.seed)), " ")
}
