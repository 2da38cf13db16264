package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/checker"
)

func newCheckCmd() *cobra.Command {
	var picture string
	var budget time.Duration
	var following bool
	c := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge stored histories again",
		Long: `Judges histories (JSON lines, also gzipped; - for stdin) and prints the verdict
on every property that the lock claims. Nothing is expected of them: exit code
0 when all is ok, 1 when something is violated, 3 when something is unknown, 2
when a history is invalid, which is not a verdict on the lock.

With --follow it reads a history that is still being written, from a file that
grows or from a pipe, and judges the linearizability of its locks as events come
in. It ends at the first violation, or at the end of the run.`,
		Example: `  holdfast check holdfast-runs/*/histories/holder-pause/reentrant-seed-1.jsonl
  zcat history.jsonl.gz | holdfast check -
  holdfast check history.jsonl --picture porcupine.html
  holdfast check --follow soak.jsonl`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if picture != "" && len(args) != 1 {
				return usage("--picture takes one history at a time")
			}
			if following {
				if picture != "" || len(args) != 1 {
					return usage("--follow takes one history at a time, and draws no picture")
				}
				return follow(c.Context(), args[0], c.InOrStdin(), c.OutOrStdout())
			}
			code := exitOK
			var bad, defects []error
			for _, path := range args {
				h, err := openHistory(path, c.InOrStdin())
				if path == "-" {
					path = "stdin"
				}
				var judged checker.Report
				if err == nil {
					if judged, err = checker.Judge(h, checker.Options{Budget: budget}); err != nil {
						err = fmt.Errorf("%s: %w", path, err)
					}
				}
				var disagreement *checker.DisagreementError
				if errors.As(err, &disagreement) {
					defects = append(defects, err)
				} else if err != nil {
					bad = append(bad, err)
					continue
				}
				code = worse(code, printVerdicts(c.OutOrStdout(), path, h, judged))
				if picture != "" {
					if err := drawPicture(picture, h); err != nil {
						return badInput(err)
					}
				}
			}
			if len(defects) > 0 {
				return defect(errors.Join(append(defects, bad...)...), "please report it, with the history and the version")
			}
			if len(bad) > 0 {
				var invalid *checker.InvalidError
				hint := ""
				if errors.As(errors.Join(bad...), &invalid) {
					hint = "a history that is not whole, or of another version, is not judged: run the scenario again with its seed"
				}
				return badInput(errors.Join(bad...), hint)
			}
			return result(code)
		},
	}
	c.Flags().BoolVar(&following, "follow", false, "judge the linearizability of a history while it is being written, and stop at the first violation")
	c.Flags().StringVar(&picture, "picture", "", "write porcupine's picture of the violating part to this HTML file")
	c.Flags().DurationVar(&budget, "budget", 20*time.Second, "real time that porcupine may take for one history")
	return c
}

func openHistory(path string, stdin io.Reader) (*checker.History, error) {
	if path == "-" {
		return decodeHistory("stdin", stdin)
	}
	return readHistory(path)
}

// worse of two exit codes of check: violated, then unknown, then ok.
func worse(a, b int) int {
	if a == exitUnexpected || b == exitUnexpected {
		return exitUnexpected
	}
	return max(a, b)
}

// printVerdicts prints what was judged and returns the exit code for it.
func printVerdicts(w io.Writer, path string, h *checker.History, judged checker.Report) int {
	code := exitOK
	fmt.Fprintf(w, "%s: %s with %s, seed %d, %s world\n", path, h.Header.Scenario, h.Header.Lock, h.Header.Seed, h.Header.World)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range checker.Properties() {
		v, ok := judged.Verdicts[p.Name]
		if !ok {
			fmt.Fprintf(t, "  %s\tnot claimed\t\n", p.Name)
			continue
		}
		words := string(v.Outcome)
		if v.Class != "" {
			words += " (" + v.Class + ")"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", p.Name, words, v.Reason)
		switch v.Outcome {
		case checker.Violated:
			code = worse(code, exitUnexpected)
		case checker.Unknown:
			code = worse(code, exitUnknown)
		}
	}
	t.Flush()
	return code
}

func drawPicture(path string, h *checker.History) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return errors.Join(checker.Picture(h, f), f.Close())
}
