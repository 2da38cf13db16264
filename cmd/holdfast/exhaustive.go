package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/explore/exhaustive"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/suite"
)

func playExhaustive(c *cobra.Command, f exploreFlags, o exhaustive.Options) error {
	out, err := openOut(f.out, exhaustive.Directory)
	if err != nil {
		return err
	}
	progress, done := watchExplore(c, -1, "placing")
	r, err := o.Play(c.Context(), progress)
	done()
	if unknown := (*exhaustive.BaseError)(nil); errors.As(err, &unknown) {
		return usage(err.Error())
	} else if err != nil && c.Context().Err() == nil {
		return defect(err)
	}
	stored := r.Store(out, suite.Dir(f.out))
	if err := printDocument(c.OutOrStdout(), f.format, r); err != nil {
		return err
	}
	switch sum := r.Total(); {
	case stored != nil:
		return notStored(stored, f.out)
	case len(r.Defects) > 0:
		return ownDefects(c.ErrOrStderr(), r.Defects)
	case c.Context().Err() != nil:
		return &exitError{code: exitInterrupted, msg: "interrupted after " + english.Count(sum.Played, "run")}
	case len(r.Violated) > 0:
		return &exitError{code: exitUnexpected, msg: english.Count(len(r.Violated), "cause") + " found, kept in " + f.out}
	case sum.Played == sum.Unknown:
		return &exitError{code: exitUnknown, msg: "no run could be judged"}
	}
	return nil
}
