package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/search/exhaustive"
	"github.com/holdfast-go/holdfast/internal/search/shrink"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// exhaustiveOnly are the flags that need --exhaustive. drawnOnly are those that
// it does not accept.
var (
	exhaustiveOnly = []string{"base", "depth", "resume"}
	drawnOnly      = []string{"seed", "runs", "time", "all", "survivable", "known", "catalogue"}
)

// checkExhaustive refuses flags that contradict each other.
func (f exploreFlags) checkExhaustive(c *cobra.Command) error {
	for _, name := range exhaustiveOnly {
		if !f.exhaustive && c.Flags().Changed(name) {
			return usage("--" + name + " is for --exhaustive")
		}
	}
	for _, name := range drawnOnly {
		if f.exhaustive && c.Flags().Changed(name) {
			return usage("--" + name + " does not go with --exhaustive, which draws nothing")
		}
	}
	if f.exhaustive && f.output.format == "sarif" {
		return usage("--format sarif does not go with --exhaustive", "holdfast run plays a find again, and prints sarif")
	}
	if f.depth < 1 || f.depth > 2 {
		return usage(fmt.Sprintf("--depth %d: must be 1 or 2, the number of faults in a run", f.depth))
	}
	if f.depth > 1 && f.base == "" {
		return usage("--depth 2 needs --base: pairs of faults in all bases take days", "the bases: "+english.And(exhaustive.Names()))
	}
	if f.resume && f.out == "" {
		return usage("--resume needs --out: the directory of what was interrupted")
	}
	return nil
}

func playExhaustive(c *cobra.Command, f exploreFlags, o exhaustive.Options) error {
	if f.resume {
		var err error
		if o.Before, err = exhaustive.Before(f.out); errors.Is(err, search.ErrDamaged) {
			return badInput(err, "without --resume, and with another --out, the command begins at the beginning")
		} else if err != nil {
			return badInput(err)
		}
		if o.Before == nil {
			fmt.Fprintf(c.ErrOrStderr(), "warning: there is nothing to resume in %s: the command begins at the beginning\n", f.out)
		}
	}
	out, err := openOut(f.out, exhaustive.Kind.Directory())
	if err != nil {
		return err
	}
	o.Keep = func(r exhaustive.Results) error {
		if err := exhaustive.Kind.Put(out, suite.Dir(f.out), r); err != nil {
			return err
		}
		out, err = openOut(f.out, exhaustive.Kind.Directory())
		return err
	}
	progress, done := watchExplore(c, -1, "placing")
	r, err := o.Play(c.Context(), progress)
	done()
	if unknown := (*exhaustive.BaseError)(nil); errors.As(err, &unknown) {
		return usage(err.Error())
	} else if errors.Is(err, exhaustive.ErrOther) {
		return badInput(err, "--resume goes on with the same lock, base, faults, depth and shard")
	} else if err != nil && c.Context().Err() == nil {
		return defect(err)
	}
	if f.shrink && !r.Interrupted {
		progress, done = watchExplore(c, -1, "shrinking")
		err = shrink.Placements(c.Context(), &r, o.Runner, progress)
		done()
		if err != nil {
			return defect(err)
		}
	}
	dir := suite.Dir(f.out)
	stored := exhaustive.Kind.Put(out, dir, r)
	if err := f.output.printStored(c, dir.File(exhaustive.Kind.Page()), stored, pages.Placement{Results: r, Dir: dir}); err != nil {
		return err
	}
	return concludeExhaustive(c, r, f.out)
}

// concludeExhaustive returns the error that ends the command, nil for success.
func concludeExhaustive(c *cobra.Command, r exhaustive.Results, dir string) error {
	switch sum, flaws := r.Total(), r.Flaws(); {
	case len(flaws) > 0:
		return ownDefects(c.ErrOrStderr(), flaws)
	case r.Interrupted && r.Shard > 0:
		return &exitError{code: exitInterrupted, msg: "interrupted after " + english.Count(sum.Played, "run"), hints: []string{"the same command with --resume --out " + dir + " goes on"}}
	case len(r.Violated) > 0:
		return &exitError{code: exitUnexpected, msg: english.Count(len(r.Violated), "cause") + " found, kept in " + dir}
	case sum.Played == sum.Unknown:
		return &exitError{code: exitUnknown, msg: "no run could be judged"}
	}
	return nil
}
