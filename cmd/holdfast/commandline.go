package main

import (
	"fmt"
	"strings"

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

// parseShard reads the value of --shard.
func parseShard(text string) (suite.Shard, error) {
	s, err := suite.ParseShard(text)
	if err != nil {
		return s, usage("--" + err.Error())
	}
	return s, nil
}

// exploreCommand is the command that repeats an exploration.
func exploreCommand(f exploreFlags) string {
	again := commandLine{"holdfast", "explore", "--lock", f.lock, "--seed", fmt.Sprint(f.seed)}
	again.flag(f.runs > 0, "--runs", fmt.Sprint(f.runs))
	again.flag(f.time > 0, "--time", f.time.String())
	again.flag(f.all, "--all")
	again.flag(len(f.faults) > 0, "--faults", strings.Join(f.faults, ","))
	again.flag(len(f.without) > 0, "--without", strings.Join(f.without, ","))
	again.flag(f.survivable, "--survivable")
	again.flag(!f.shrink, "--shrink=false")
	again.flag(f.catalogue, "--catalogue")
	again.flag(f.known != "", "--known", f.known)
	again.flag(f.part.Of > 1, "--shard", f.shard)
	return again.String()
}
