package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/live"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/scenarios"
)

// fidelityFlags are the flags of "holdfast fidelity".
type fidelityFlags struct {
	locks   []string
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
		Long: `Plays every scenario (or those named) against every lock it applies to (or those
of --lock), first in the simulator and then on real servers, and prints the
matrix of both: one mark where they agree on every property, both where they do
not, and below it each difference, with the explanation if there is one. The run
directory has the runs and a report of each world, in sim/ and live/.

Exit codes: 0 the worlds agree, or every difference is explained; 1 they do not;
2 bad usage or bad input; 3 some run has no verdict; 4 a defect of holdfast
itself; 130 interrupted.`,
		Example: `  holdfast fidelity
  holdfast fidelity holder-pause --lock reentrant,redlock
  holdfast fidelity --format markdown`,
		RunE: func(c *cobra.Command, args []string) error { return runFidelity(c, args, f) },
	}
	c.ValidArgs = scenarios.Names()
	c.Flags().StringSliceVar(&f.locks, "lock", nil, "locks to play against, by name (default all)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of every run")
	c.Flags().StringVar(&f.out, "out", "", "run directory (default holdfast-runs/TIME)")
	c.Flags().StringVar(&f.format, "format", "text", "what to print: text or markdown")
	c.Flags().Float64Var(&f.scale, "time-scale", 0, "as in holdfast run")
	c.Flags().IntVar(&f.workers, "workers", 0, "as in holdfast run")
	complete(c, "lock", scenarios.Locks())
	complete(c, "format", fidelityFormats)
	return c
}

var fidelityFormats = []string{"text", "markdown"}

// knownDifferences explains where the worlds differ, and who is right.
//
//go:embed fidelity.yaml
var knownDifferences []byte

// explanations reads them: scenario/lock/property -> paragraph.
func explanations() (map[string]string, error) {
	var known map[string]string
	if err := yaml.Unmarshal(knownDifferences, &known); err != nil {
		return nil, fmt.Errorf("read the known differences: %w", err)
	}
	return known, nil
}

func runFidelity(c *cobra.Command, args []string, f fidelityFlags) error {
	if err := checkFormat(f.format, fidelityFormats); err != nil {
		return err
	}
	known, err := explanations()
	if err != nil {
		return defect(err)
	}
	list, err := pick(args)
	if err != nil {
		return err
	}
	if _, err := serversOf(live.Redis); err != nil { // not after everything was played in the simulator
		return err
	}
	dir, err := createRunDir(f.out)
	if err != nil {
		return badInput(err, "choose another directory with --out")
	}
	if err := os.Remove(dir.file("results.json")); err != nil { // each world has its own
		return badInput(err)
	}
	both := reports.Fidelity{Explained: known}
	var ends [2]outcome
	for i, world := range []string{worldSim, worldLive} {
		flags := runFlags{locks: f.locks, world: world, seed: f.seed, seeds: 1, out: dir.file(world), format: "text", workers: f.workers, stall: time.Minute}
		if world == worldLive {
			flags.scale, flags.backend = f.scale, live.Redis
		}
		res, about, o, err := playIn(c, list, args, flags.withDefaults())
		if err != nil {
			return err
		}
		ends[i] = o
		if world == worldSim {
			both.Sim, both.About = res, about
		} else {
			both.Live = res
		}
	}
	if err := showFidelity(c.OutOrStdout(), both, f.format); err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	fmt.Fprintf(c.ErrOrStderr(), "reports: %s, %s\n", dir.file(worldSim, "report.html"), dir.file(worldLive, "report.html"))
	for _, o := range ends {
		if err := o.failure(c.ErrOrStderr()); err != nil {
			return err
		}
		if o.stopped {
			return &exitError{code: exitInterrupted, msg: "interrupted; the matrix has what ran"}
		}
	}
	return result(agreement(both))
}

// playIn plays everything in one world, and writes its run directory.
func playIn(c *cobra.Command, list []played, args []string, f runFlags) (reports.Results, []reports.About, outcome, error) {
	fail := func(err error) (reports.Results, []reports.About, outcome, error) {
		return reports.Results{}, nil, outcome{}, err
	}
	if err := f.check(); err != nil {
		return fail(err)
	}
	f, err := f.withBackend(c.ErrOrStderr())
	if err != nil {
		return fail(err)
	}
	jobs, skipped, err := plan(list, f)
	if err != nil {
		return fail(err)
	}
	dir, err := createRunDir(f.out)
	if err != nil {
		return fail(badInput(err))
	}
	for _, p := range list {
		if err := dir.writeScenario(p); err != nil {
			return fail(badInput(fmt.Errorf("output directory: %w", err)))
		}
	}
	o := execute(c.Context(), jobs, dir, f, c.ErrOrStderr())
	res := results(args, f, o, skipped)
	doc := dir.document(res)
	if err := dir.save(res, doc); err != nil {
		return fail(defect(fmt.Errorf("write run directory %s: %w", dir, err)))
	}
	return res, doc.About, o, nil
}

func showFidelity(w io.Writer, f reports.Fidelity, format string) error {
	if format == "markdown" {
		return f.Markdown(w)
	}
	return f.Text(w)
}

// agreement is the exit code for a comparison.
func agreement(f reports.Fidelity) int {
	code := exitOK
	for _, d := range f.Differences() {
		if d.Explanation == "" {
			code = exitUnexpected
		}
	}
	if code == exitOK && f.Sim.Summary.Unknown+f.Live.Summary.Unknown > 0 {
		return exitUnknown
	}
	return code
}
