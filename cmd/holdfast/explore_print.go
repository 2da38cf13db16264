package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/explore"
)

// print writes the result; tables stand between before and after.
func (e explored) print(w io.Writer, before, after string) error {
	distinct := explore.Distinct(e.Causes)
	if len(distinct) > 0 {
		fmt.Fprintf(w, "what went wrong, by cause:\n\n%s", before)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "runs\tfirst seed\tcause\tscenario")
		for _, c := range distinct {
			where := c.Scenario
			switch {
			case c.Known:
				where = "(known)"
			case where != "":
				where = filepath.Join(e.out, filepath.FromSlash(where))
			}
			fmt.Fprintf(tw, "%d\t%d\t%s\t%s\n", c.Count, c.FirstSeed, c.Cause, where)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", after)
	}
	fmt.Fprintf(w, "how often each fault struck in which phase (a dot is a hole):\n\n%s", before)
	coverage := explore.Coverage{}
	for _, c := range e.Coverage {
		coverage[c.Cell] = c.Hits
	}
	if err := coverage.Table(w, e.Vocabulary.Faults); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", after)
	if e.Violated == 0 {
		fmt.Fprintln(w, e.worth())
	}
	_, err := fmt.Fprintln(w, e.sentence())
	return err
}

// worth says what it means that nothing was found.
func (e explored) worth() string {
	judged := e.Runs - e.Unknown
	var struck []string
	for _, s := range e.Strikes {
		struck = append(struck, fmt.Sprintf("%s %d", s.Fault, s.Runs))
	}
	return fmt.Sprintf("No violation in %s: with 95 %% confidence fewer than 1 in %.0f runs like these has one. Runs in which each fault struck: %s.",
		count(judged, "run"), 1/explore.UpperBound(judged), strings.Join(struck, ", "))
}

func (e explored) sentence() string {
	rate := 0.0
	if e.WallMS > 0 {
		rate = float64(e.Runs) / e.WallMS * 1000
	}
	text := fmt.Sprintf("%s of %s: %d violated a promise, by %s; %d proved nothing. %s of virtual time and %s in %s, %.0f runs/s.",
		count(e.Runs, "run"), e.Lock, e.Violated, count(len(explore.Distinct(e.Causes)), "cause"), e.Unknown,
		span(e.VirtualMS), count(e.Ops, "operation"), span(e.WallMS), rate)
	if e.Of > 1 && e.Shard > 0 {
		text = fmt.Sprintf("shard %d of %d: ", e.Shard, e.Of) + text
	}
	return text
}

// exploreCommand is how to do the same again.
func exploreCommand(f exploreFlags) string {
	words := []string{"holdfast explore --lock", f.lock, "--seed", fmt.Sprint(f.seed)}
	flag := func(given bool, name, value string) {
		if given {
			words = append(words, strings.TrimSpace(name+" "+value))
		}
	}
	flag(f.runs > 0, "--runs", fmt.Sprint(f.runs))
	flag(f.time > 0, "--time", f.time.String())
	flag(f.all, "--all", "")
	flag(len(f.faults) > 0, "--faults", strings.Join(f.faults, ","))
	flag(len(f.without) > 0, "--without", strings.Join(f.without, ","))
	flag(f.survivable, "--survivable", "")
	flag(f.known != "", "--known", f.known)
	flag(f.of > 1, "--shard", f.shard)
	return strings.Join(words, " ")
}
