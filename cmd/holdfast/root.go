package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/scenarios"
)

// The rules of the command line: stdout carries the result and nothing else,
// stderr the progress and the errors. An error is "holdfast: what went wrong",
// in lower case and without a full stop, then "hint:" lines. Colour and
// progress bars are for terminals only.

func newRoot(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Show what a distributed lock on Redis really guarantees",
		Long: `holdfast plays scenarios of failure against distributed locks on Redis, records
every operation, and judges the history. Did two owners hold the lock at once? Was
an update lost? Does a waiter sleep on a free lock?

With no server and nothing installed, everything runs in a simulated world in
virtual time, and a seed gives the same history every time.`,
		Example: `  holdfast run                                     # every scenario, every lock
  holdfast run failover-lost-write --lock reentrant
  holdfast list scenarios
  holdfast show holder-pause > mine.yaml && holdfast run ./mine.yaml`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              cobra.ArbitraryArgs,
		RunE:              helpOnly,
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return flagError(c, err) })
	addInGroups(root)
	for _, c := range root.Commands() {
		if c.Args == nil {
			c.Args = cobra.ArbitraryArgs
		}
		c.Args = usageArgs(c.Args)
	}
	return root
}

// helpOnly runs a command that only has others below it. It prints the help, and refuses
// a name that none of them has.
func helpOnly(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	what := "unknown command " + quote(args[0])
	if c.HasParent() {
		what += " of " + c.CommandPath()
	}
	return usage(what, didYouMean(args[0], names), c.CommandPath()+" --help lists the commands")
}

// addInGroups adds the commands. The help lists them in this order, those first that a
// newcomer needs.
func addInGroups(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Begin here:", []*cobra.Command{newRunCmd(), newExplainCmd(), newServeCmd()}},
		{"Play:", []*cobra.Command{newListCmd(), newShowCmd(), newReplayCmd(), newAdapterCmd()}},
		{"Look at what was played:", []*cobra.Command{newReportCmd(), newBriefCmd(), newCompareCmd(), newCheckCmd(), newMergeCmd()}},
		{"Search:", []*cobra.Command{newExploreCmd(), newShrinkCmd()}},
		{"Measure:", []*cobra.Command{newSweepCmd()}},
		{"Test Holdfast:", []*cobra.Command{newSelftestCmd()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersionCmd(), newWorkerCmd(), newClientCmd(), newMiniredisCmd())
}

// usageArgs turns cobra's errors about arguments into errors of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			if _, ok := err.(*exitError); ok {
				return err
			}
			msg, hint := err.Error(), c.CommandPath()+" --help shows how it is used"
			if _, what, ok := strings.Cut(c.Use, " "); ok && len(args) == 0 {
				msg = c.Name() + " needs " + what
			}
			return usage(msg, hint)
		}
		return nil
	}
}

// flagError adds the nearest flags to the message of the flag parser.
func flagError(c *cobra.Command, err error) error {
	msg := err.Error()
	hint := c.CommandPath() + " --help lists the flags"
	if _, name, ok := strings.Cut(msg, "unknown flag: --"); ok {
		return usage(msg, didYouMean("--"+name, flagNames(c)), hint)
	}
	msg, why, _ := strings.Cut(msg, ": strconv.Parse")
	if strings.HasPrefix(why, "Uint") {
		hint = "it must be a whole number from 0 to 18446744073709551615"
	}
	return usage(msg, hint)
}

// didYouMean is a hint with the nearest of the names, or "".
func didYouMean(word string, names []string) string {
	near := scenarios.Nearest(word, names)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}

// complete offers words for a flag to shell completion.
func complete(c *cobra.Command, flag string, words []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag does not exist: a mistake in this program
	}
}
