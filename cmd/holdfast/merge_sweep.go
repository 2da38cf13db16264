package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/sweep"
)

// mergeSweeps joins shards of a sweep.
func mergeSweeps(c *cobra.Command, dirs []string, f mergeFlags) error {
	var all []*sweep.Result
	for _, d := range dirs {
		r, err := readSweep(d)
		if err != nil {
			return badInput(fmt.Errorf("%s: %w", d, err), "a sweep is what holdfast sweep --out writes; play it again, or leave it out")
		}
		all = append(all, r)
	}
	r, err := sweep.Merge(all...)
	if err != nil {
		return badInput(err, "a shard that was played twice and differs: keep the one that you trust; runs are the same on every machine, but for those that --stall gives up")
	}
	out, err := openOut(f.out, sweepKind)
	if err != nil {
		return err
	}
	if err := printTable(c.OutOrStdout(), f.format, sweepTable{r}); err != nil {
		return defect(fmt.Errorf("print result: %w", err))
	}
	if err := storeSweep(out, f.out, r, c.ErrOrStderr()); err != nil {
		return notStored(err, f.out)
	}
	if err := missingShards(r.Missing, r.Shards); err != nil || !r.Interrupted {
		return err
	}
	return &exitError{code: exitUnknown, msg: "joined, but not complete: " + sweep.InterruptedWords, hints: []string{"play it again: " + r.Command}}
}

func readSweep(dir string) (*sweep.Result, error) {
	file, err := os.Open(filepath.Join(dir, sweepResults))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return sweep.ReadResult(file)
}
