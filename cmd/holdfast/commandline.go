package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/suite"
)

// commandLine is a command that repeats a run.
type commandLine []string

// flag adds a flag with a value, which may be empty, if given says so.
func (c *commandLine) flag(given bool, name string, value ...string) {
	if given {
		*c = append(append(*c, name), value...)
	}
}

func (c commandLine) String() string { return strings.Join(c, " ") }

func parseShard(text string) (suite.Shard, error) {
	s, err := suite.ParseShard(text)
	if err != nil {
		return s, usage("--" + err.Error())
	}
	return s, nil
}

// repeat is the command with the same arguments, and those of some flags that were given.
// It has a flag whose name ends in = in any case.
func repeat(c *cobra.Command, args []string, names ...string) string {
	again := append(commandLine{c.CommandPath()}, args...)
	for _, name := range names {
		name, always := strings.CutSuffix(name, "=")
		f := c.Flags().Lookup(name)
		list, is := f.Value.(interface{ GetSlice() []string })
		switch {
		case !always && !f.Changed:
		case is && f.Value.Type() == "stringArray":
			for _, value := range list.GetSlice() {
				again.flag(true, "--"+name, value)
			}
		case is:
			again.flag(true, "--"+name, strings.Join(list.GetSlice(), ","))
		case f.Value.Type() != "bool":
			again.flag(true, "--"+name, f.Value.String())
		case f.Value.String() == "true":
			again.flag(true, "--"+name)
		default:
			again.flag(true, "--"+name+"=false")
		}
	}
	return again.String()
}
