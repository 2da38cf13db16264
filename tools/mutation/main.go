// Command mutation measures how many arbitrary mistakes the catalogue and exploration
// find in locks. It changes the reference lock and the textbook locks by rule, one place
// at a time. It counts the mutants that no run distinguishes from the original.
//
// All mutants are in one binary: a rewritten copy of the locks switches each one on by
// an environment variable. [options.measure] plays them, and a [report] has the score
// and every survivor.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/terminal"
	"github.com/holdfast-go/holdfast/scenarios"
)

const help = `Usage: go run ./mutation [flags], in tools/ of a clone of the repository

Plays mutants of the reference lock and of the textbook locks, each with one small
change: the catalogue first, then for each lock --crossed workloads with one fault and
--drawn random scenarios. A mutant dies when a verdict is not as expected, a run does
not end, or one seed gives two histories. With --out the same command goes on where it
ended, and shards with one directory come together.

Exit codes: 0 every mutant killed or called equivalent; 1 one survived; 2 bad usage;
4 a defect of the command itself; 130 interrupted.

`

// Exit codes of the command.
const (
	exitSurvivors   = 1
	exitUsage       = 2
	exitDefect      = 4
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the command, and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, format, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "mutation:", err)
		return exitUsage
	}
	o.Progress = func(what string, steps int) (step, done func()) {
		bar := terminal.Count(stderr, steps, what)
		return bar.Step, bar.Done
	}
	r, err := o.measure(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, errNoSource):
		fmt.Fprintf(stderr, "mutation: %v\nhint: install Go, and run the command in a clone of the repository\n", err)
		return exitUsage
	case err == nil:
		err = r.print(stdout, format)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mutation:", err)
		return exitDefect
	}
	if ctx.Err() != nil {
		fmt.Fprintf(stderr, "mutation: interrupted with %d of %d played\n", r.Played, r.Chosen)
		return exitInterrupted
	}
	if n := r.alive(); n > 0 {
		fmt.Fprintf(stderr, "mutation: %s survived\n", english.Count(n, "mutant"))
		return exitSurvivors
	}
	return 0
}

// parseFlags reads the options and the format of the output. Its error names the flag.
func parseFlags(args []string, stderr io.Writer) (o options, format string, err error) {
	o = options{Source: "."}
	f := flag.NewFlagSet("mutation", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, help)
		f.PrintDefaults()
	}
	list := func(to *[]string, name, usage string) {
		f.Func(name, usage, func(text string) error {
			*to = append(*to, strings.Split(text, ",")...)
			return nil
		})
	}
	list(&o.Locks, "lock", "`locks` to play, by name (default all)")
	list(&o.Files, "file", "`files` to change, as lock/release.go, or folders, as lock/ (default all)")
	list(&o.Operators, "operator", "`rules` to change by: "+strings.Join(operatorNames(), ", ")+" (default all)")
	f.IntVar(&o.Sample, "sample", 0, "play so many mutants, drawn by --seed (default all)")
	f.Uint64Var(&o.Seed, "seed", 1, "the seed of the sample and of every run")
	f.IntVar(&o.Crossed, "crossed", 200, "crossed workloads for each lock, as locktest.Run plays them")
	f.IntVar(&o.Drawn, "drawn", 10, "random scenarios for each lock")
	f.IntVar(&o.Placed, "placed", 0, "survivors also play one in so many placements of explore --exhaustive (default none)")
	f.BoolVar(&o.Tests, "tests", false, "survivors also meet the tests of the locks")
	f.BoolVar(&o.NoRuns, "no-runs", false, "every mutant meets the tests of the locks, and no run (implies --tests)")
	shard := f.String("shard", "", "part `I/N` of the mutants")
	f.StringVar(&o.Record, "out", "", "`directory` that keeps the results")
	f.StringVar(&format, "format", "text", "what to print: text, json (a line for the counts, and one for each mutant that was not killed), markdown or html")
	f.IntVar(&o.Workers, "workers", runtime.NumCPU(), "worker processes")
	f.DurationVar(&o.Stall, "stall", time.Minute, "processor time after which a run that does not end is given up")
	if err := f.Parse(args); err != nil {
		return o, "", err
	}
	if o.Shard, err = suite.ParseShard(*shard); err != nil {
		return o, "", fmt.Errorf("--%w", err)
	}
	switch {
	case f.NArg() > 0:
		return o, "", fmt.Errorf("unknown argument %q", f.Arg(0))
	case !slices.Contains([]string{"text", "json", "markdown", "html"}, format):
		return o, "", fmt.Errorf("--format %s: must be text, json, markdown or html", format)
	case o.Workers < 1:
		return o, "", fmt.Errorf("--workers %d: must be at least 1", o.Workers)
	case o.Stall < time.Second:
		return o, "", fmt.Errorf("--stall %v: must be at least 1s", o.Stall)
	}
	o.Tests = o.Tests || o.NoRuns
	return o, format, o.check()
}

// didYouMean is a hint for a misspelled word, or "".
func didYouMean(word string, names []string) string {
	if near := scenarios.Nearest(word, names); len(near) > 0 {
		return "\nhint: did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}
