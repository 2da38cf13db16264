package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/rundir"
)

func newMergeCmd() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge RUNDIR... --out DIR",
		Short: "Join run directories into one, with one report",
		Long: `Joins the runs of several run directories, in the order of the catalogue. The
same run (scenario, lock, world and seed) in two of them counts once; that it is
not the same in both is an error, as are directories that are not whole. In
whatever order, and however often, directories are joined: the result is the
same. Histories and scenarios are copied; logs of servers are not.`,
		Example: `  holdfast run contention --seed 1 --seeds 50 --out first
  holdfast run contention --seed 51 --seeds 50 --out second
  holdfast merge first second --out both`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return usage("--out is missing: where the joined run directory goes")
			}
			return merge(c, args, out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "directory to write; a run directory that is there already is made anew")
	return c
}

// merge joins run directories. Nothing is written before all of them are read
// and fit together.
func merge(c *cobra.Command, dirs []string, out string) error {
	var whole rundir.Part
	for i, d := range dirs {
		if sameFile(d, out) {
			return usage(fmt.Sprintf("--out %s is one of the directories to join", out), "give a directory of its own: joining again gives the same")
		}
		p, err := rundir.ReadPart(rundir.Dir(d))
		if err != nil {
			return badInput(err, "a run directory is what holdfast run writes; run it again, or leave it out")
		}
		if i == 0 {
			whole = p
		} else if whole, err = rundir.Join(whole, p); err != nil {
			return badInput(err)
		}
	}
	dir, err := rundir.Create(out)
	if err != nil {
		return badInput(err)
	}
	if err := whole.Write(dir); err != nil {
		return defect(fmt.Errorf("write run directory %s: %w", dir, err), "the directories to join are as they were; "+out+" is not whole")
	}
	fmt.Fprintf(c.ErrOrStderr(), "directories: %d, runs: %d\n", len(dirs), len(whole.Results.Runs))
	_, err = fmt.Fprintln(c.OutOrStdout(), dir.File("report.html"))
	return err
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
