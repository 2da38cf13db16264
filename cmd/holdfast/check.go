package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/pages"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/terminal"
)

type checkFlags struct {
	judges string
	budget time.Duration
	cutOff bool
	format string
}

var judgeNames = checker.Judges()

func newCheckCmd() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge stored histories again",
		Long: `Judges histories (JSON lines, also gzipped; - for stdin) and prints the verdict on
every property that the lock claims. Nothing is expected of them. Exit codes: 0 all
is ok; 1 something is violated; 3 something is unknown; 2 a history is invalid,
which is not a verdict on the lock.

Two judges decide whether a history is linearizable. One is made for locks and
takes about a second for a million operations. The other is porcupine, which
is not made for locks; it confirms the first. It always confirms the few operations that
prove a violation, and of any history as much as time and memory allow. The verdict
says so when only one of them decided. When they disagree, one of them is wrong:
exit code 4, with the smallest history on which they do.

A history whose recording was killed ends without its last event, maybe in the
middle of a line, and is invalid. With --cut-off it is judged up to its last whole
line, as if the run had ended there. The leftovers, for example, are unknown then.`,
		Example: `  holdfast check holdfast-runs/*/histories/holder-pause/reentrant-seed-1.jsonl
  zcat history.jsonl.gz | holdfast check -
  holdfast check history.jsonl.gz --judge fast
  holdfast check history.jsonl --format json | jq '.histories[].verdicts'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return checkHistories(c, args, f)
		},
	}
	c.Flags().StringVar(&f.judges, "judge", judgeNames[0], "who judges whether a history is linearizable: both, fast or porcupine")
	c.Flags().DurationVar(&f.budget, "budget", 20*time.Second, "real time that the judges of --judge may search in one history, together")
	c.Flags().BoolVar(&f.cutOff, "cut-off", false, "judge what there is of a history whose recording was killed, as far as it goes")
	formatFlag(c, &f.format, tableFormats, "what to print: text, json or markdown")
	complete(c, "judge", judgeNames)
	return c
}

// judgeHistory judges; tests replace it.
var judgeHistory = checker.Judge

func checkHistories(c *cobra.Command, args []string, f checkFlags) error {
	if !slices.Contains(judgeNames, f.judges) {
		return usage(fmt.Sprintf("unknown judge %q", f.judges), didYouMean(f.judges, judgeNames), "judges: "+strings.Join(judgeNames, ", "))
	}
	if f.budget <= 0 {
		return usage("--budget must be more than 0")
	}
	// A history uses most of the memory and does not change.
	defer suite.CollectRarely(256 << 20)()
	code := exitOK
	var bad, defects []error
	all := pages.NewChecked()
	for _, path := range args {
		name := path
		if path == "-" {
			name = "stdin"
		}
		h, err := openHistory(path, f, c)
		var judged checker.Report
		if err == nil {
			if judged, err = judgeWithBar(c.Context(), h, f, c.ErrOrStderr()); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		if c.Context().Err() != nil && len(defects) == 0 {
			return c.Context().Err()
		}
		if disagreement, ok := errors.AsType[*checker.DisagreementError](err); ok {
			pages.PrintDisagreement(c.ErrOrStderr(), name, disagreement)
			defects = append(defects, err)
		} else if err != nil {
			bad = append(bad, err)
			continue
		}
		all.Histories = append(all.Histories, pages.VerdictsOn(name, h, judged))
		if f.format == "text" { // as soon as it is known
			if err := printDocument(c.OutOrStdout(), f.format, pages.NewChecked(all.Histories[len(all.Histories)-1])); err != nil {
				return err
			}
		}
		for _, v := range judged.Verdicts {
			code = worse(code, codeOf(v))
		}
	}
	if f.format != "text" && len(all.Histories) > 0 {
		if err := printDocument(c.OutOrStdout(), f.format, all); err != nil {
			return err
		}
	}
	if len(defects) > 0 {
		return defect(errors.Join(append(defects, bad...)...), "please report it, with the history and the version")
	}
	if len(bad) > 0 {
		err := errors.Join(bad...)
		return badInput(err, badHistoryHint(err))
	}
	return result(code)
}

func badHistoryHint(err error) string {
	var invalid *history.InvalidError
	switch {
	case errors.As(err, &invalid) && invalid.CutOff:
		return "its recording was cut off; holdfast check --cut-off judges what there is"
	case errors.As(err, &invalid):
		return "a history that is not whole, or of another version, is not judged; play the run again"
	case errors.As(err, new(*suite.DamagedError)) && errors.Is(err, io.ErrUnexpectedEOF):
		return "fetch the file again; or holdfast check --cut-off judges what there is"
	case errors.As(err, new(*suite.DamagedError)):
		return "fetch the file again, or run the scenario again with its seed"
	case errors.Is(err, fs.ErrNotExist):
		return "a history is a file such as RUNDIR/histories/SCENARIO/LOCK-seed-1.jsonl"
	case errors.Is(err, syscall.EISDIR):
		return "name the files in it; those of a run directory are DIR/histories/*/*.jsonl"
	}
	return ""
}

func openHistory(path string, f checkFlags, c *cobra.Command) (*history.History, error) {
	decode := history.Decode
	if f.cutOff {
		decode = history.DecodeCutOff
	}
	if path != "-" {
		return readHistory(c.Context(), path, decode, c.ErrOrStderr())
	}
	bar := terminal.Bytes(c.ErrOrStderr(), -1, "reading")
	defer bar.Done()
	return suite.UnlessInterrupted(c.Context(), func() (*history.History, error) {
		return suite.Decode("stdin", -1, decode, bar.Of(c.InOrStdin()))
	})
}

// decoder is history.Decode, or history.DecodeCutOff.
type decoder func(io.Reader) (*history.History, error)

// readHistory reads a stored history, gzipped or not. A bar on stderr shows its progress.
func readHistory(ctx context.Context, path string, decode decoder, stderr io.Writer) (*history.History, error) {
	f, size, err := suite.OpenInput(ctx, path)
	if err != nil {
		return nil, err
	}
	bar := terminal.Bytes(stderr, size, "reading")
	defer bar.Done()
	return suite.UnlessInterrupted(ctx, func() (*history.History, error) {
		defer f.Close()
		return suite.Decode(path, size, decode, bar.Of(f))
	})
}

func judgeWithBar(ctx context.Context, h *history.History, f checkFlags, stderr io.Writer) (checker.Report, error) {
	bar := terminal.Count(stderr, len(checker.Properties()), "judging")
	defer bar.Done()
	return suite.UnlessInterrupted(ctx, func() (checker.Report, error) {
		return judgeHistory(h, checker.Options{
			Budget: f.budget, Judges: f.judges, Begin: func(checker.Property) { bar.Step() },
		})
	})
}

// worse returns the worse of two exit codes: violated, then unknown, then ok.
func worse(a, b int) int {
	if a == exitUnexpected || b == exitUnexpected {
		return exitUnexpected
	}
	return max(a, b)
}

func codeOf(v checker.Verdict) int {
	switch v.Outcome {
	case checker.Violated:
		return exitUnexpected
	case checker.Unknown:
		return exitUnknown
	}
	return exitOK
}
