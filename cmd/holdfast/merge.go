package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/explore"
	"github.com/holdfast-go/holdfast/internal/search/sweep"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/suite/report"
)

type mergeFlags struct {
	out    string
	output outputFlags
}

// runResults is the document of a run directory.
const runResults = "results.json"

// mergeable are the documents whose directories can be joined.
var mergeable = map[string]struct {
	command string // that writes it
	merge   func(c *cobra.Command, dirs []string, f mergeFlags) error
}{
	runResults: {"run", mergeRuns},
	explore.Kind.Index(): {"explore", func(c *cobra.Command, dirs []string, f mergeFlags) error {
		return mergeShards(c, dirs, f, explore.Kind, func(r explore.Results, dir suite.Dir) rendered { return pages.Exploration{Results: r, Dir: dir} })
	}},
	exhaustive.Kind.Index(): {"explore --exhaustive", func(c *cobra.Command, dirs []string, f mergeFlags) error {
		return mergeShards(c, dirs, f, exhaustive.Kind, func(r exhaustive.Results, dir suite.Dir) rendered { return pages.Placement{Results: r, Dir: dir} })
	}},
	sweep.Kind.Index(): {"sweep", func(c *cobra.Command, dirs []string, f mergeFlags) error {
		return mergeShards(c, dirs, f, sweep.Kind, func(r *sweep.Result, _ suite.Dir) rendered { return pages.Sweep{Result: r} })
	}},
}

func newMergeCmd() *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge DIR... --out DIR",
		Short: "Join directories of results into one, with one report",
		Long: `Joins the directories that holdfast run, explore or sweep have written, all of one
kind. In whatever order, and however often, directories are
joined: the result is the same. Nothing is written before all of them are read
and fit together.

Run directories: the same run (scenario, lock, world and seed) in two of them
counts once; that it is not the same in both is an error, as are directories that
are not whole. Histories and scenarios are copied; logs of servers are not. When
one of the directories was interrupted, the result is interrupted.

Shards of a search (an exploration, exhaustive placement or a sweep): the same shard
twice counts once; when it was interrupted and played again, the one with more runs.
That it is not the same in both is an error, as are shards of different searches. The
result is printed, says which shards are missing, and can be joined with those
later. A directory without results, as a killed shard leaves it, is left out. Of a
cause that several shards have seen, the files of the first run are kept.

Exit codes: 0 joined; 2 bad usage or bad input; 3 joined, and a shard is missing,
or something was interrupted; 4 a defect of holdfast itself.`,
		Example: `  holdfast run contention --seed 1 --seeds 50 --out first
  holdfast run contention --seed 51 --seeds 50 --out second
  holdfast merge first second --out both

  holdfast explore --lock reentrant --all --runs 100000 --shard 1/2 --out one
  holdfast explore --lock reentrant --all --runs 100000 --shard 2/2 --out two
  holdfast merge one two --out both --format json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return merge(c, args, f) },
	}
	c.Flags().StringVar(&f.out, "out", "", "directory to write: new, empty, or with results that holdfast may replace")
	f.output.flags(c, "what to print of explorations and sweeps", " (default beside the results)")
	return c
}

func merge(c *cobra.Command, dirs []string, f mergeFlags) error {
	if f.out == "" {
		return usage("--out is missing: where the joined directory goes")
	}
	if err := f.output.check(); err != nil {
		return err
	}
	for _, d := range dirs {
		if sameFile(d, f.out) {
			return usage(fmt.Sprintf("--out %s is one of the directories to join", f.out), "give a directory of its own: joining again gives the same")
		}
	}
	kind, dirs, err := resultsIn(dirs, c.ErrOrStderr())
	if err != nil {
		return err
	}
	return mergeable[kind].merge(c, dirs, f)
}

func mergeShards[R search.Results[R]](c *cobra.Command, dirs []string, f mergeFlags, k search.Kind[R], printed func(R, suite.Dir) rendered) error {
	m, err := k.MergeDirs(dirs)
	if err != nil {
		return badInput(err)
	}
	out, err := openOut(f.out, k.Directory())
	if err != nil {
		return err
	}
	dir := suite.Dir(f.out)
	stored := k.Store(out, dir, m)
	if err := f.output.printStored(c, dir.File(k.Page()), stored, printed(m.Results, dir)); err != nil {
		return err
	}
	if flaws := m.Results.Flaws(); len(flaws) > 0 {
		return ownDefects(c.ErrOrStderr(), flaws)
	}
	if e := m.Results.Common(); len(e.Missing) > 0 {
		return &exitError{code: exitUnknown, msg: suite.MissingShards(e.Missing, e.Of), hints: []string{"play them, or play them again, and join their directories with this one"}}
	}
	return nil
}

// resultsIn finds the file of results in the directories, and the directories
// that hold it. A killed shard leaves a directory without one. resultsIn names it
// on stderr, and the shard counts as missing.
func resultsIn(dirs []string, stderr io.Writer) (kind string, with []string, err error) {
	var without []string
	for _, d := range dirs {
		here, err := disk.Which(d, slices.Sorted(maps.Keys(mergeable))...)
		switch {
		case err != nil:
			return "", nil, badInput(err, "leave it out, or give each of the results a directory of its own")
		case here == "":
			without = append(without, d)
			continue
		case kind != "" && here != kind:
			return "", nil, badInput(fmt.Errorf("%s was written by holdfast %s, and %s by holdfast %s", with[0], mergeable[kind].command, d, mergeable[here].command),
				"join directories of one kind")
		}
		kind, with = here, append(with, d)
	}
	if len(without) > 0 && (kind == "" || kind == runResults) {
		return "", nil, badInput(fmt.Errorf("there are no results in %s: the command that was to write them was ended before, or wrote them elsewhere", without[0]),
			"run it again, or leave it out", "holdfast run, explore --out and sweep --out write results")
	}
	for _, d := range without {
		fmt.Fprintf(stderr, "warning: there are no results in %s: the command that was to write them was ended before\n", d)
	}
	return kind, with, nil
}

func mergeRuns(c *cobra.Command, dirs []string, f mergeFlags) error {
	if c.Flags().Changed("format") || c.Flags().Changed("html") {
		return usage("--format and --html are for explorations and sweeps", "holdfast report prints a run directory: holdfast report "+f.out+" --format "+f.output.format)
	}
	whole, interrupted, err := suite.JoinDirs(dirs)
	if err != nil {
		return badInput(err, "holdfast run writes a run directory; run it again, or leave it out")
	}
	dir, err := whole.Create(f.out)
	if err != nil {
		return badOut(err)
	}
	if err := whole.Write(dir, report.Draw); err != nil {
		return defect(fmt.Errorf("write run directory %s: %w", dir, err), "the directories to join are as they were; "+f.out+" is not whole")
	}
	fmt.Fprintf(c.ErrOrStderr(), "directories: %d, runs: %d\n", len(dirs), len(whole.Results.Runs))
	if _, err = fmt.Fprintln(c.OutOrStdout(), dir.File("report.html")); err != nil {
		return err
	}
	if len(interrupted) > 0 {
		return &exitError{code: exitUnknown, msg: "joined, but not complete: interrupted was " + strings.Join(interrupted, ", ")}
	}
	return nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
