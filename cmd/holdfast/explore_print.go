package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/explore/draw"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/suite"
)

// explored prints what an exploration has shown.
type explored struct {
	explore.Results
	dir  suite.Dir
	tell bool // the story of the find, if there is one
}

// Text implements [document].
func (e explored) Text(w io.Writer) error { return e.print(w, "", "") }

// Markdown implements [document].
func (e explored) Markdown(w io.Writer) error { return e.print(w, "```\n", "```\n") }

// print writes the result; tables stand between before and after.
func (e explored) print(w io.Writer, before, after string) error {
	if e.Interrupted {
		fmt.Fprintf(w, "Interrupted: not all runs were played, or not all finds made small.\n\n")
	}
	if len(e.Causes) > 0 {
		fmt.Fprintf(w, "what went wrong, and after which faults:\n\n%s", before)
		if err := e.hazards(w); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", after)
	}
	if err := e.coverage(w, before, after); err != nil {
		return err
	}
	if err := e.recalled(w, before, after); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, strings.Join(e.Sentences(), "\n")); err != nil {
		return err
	}
	return e.story(w, before, after)
}

// story tells the find that has ended the exploration.
func (e explored) story(w io.Writer, before, after string) error {
	i := slices.IndexFunc(e.Causes, func(c explore.Found) bool { return !c.Known && c.Shrunk != nil })
	if !e.tell || i < 0 {
		return nil
	}
	text, err := os.ReadFile(e.dir.File(e.Causes[i].Shrunk.Story))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nwhat is left of it when it is made as small as it can be:\n\n%s%s%s", before, text, after)
	return err
}

// coverage is the table of faults and phases; after the few runs to a first find
// it would be all holes.
func (e explored) coverage(w io.Writer, before, after string) error {
	if e.tell && e.Violated > 0 {
		return nil
	}
	fmt.Fprintf(w, "how often each fault struck in which phase (a dot is a hole):\n\n%s", before)
	coverage := draw.Coverage{}
	for _, c := range e.Coverage {
		coverage[c.Cell] = c.Hits
	}
	if err := coverage.Table(w, e.Vocabulary.Faults); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", after)
	return err
}

// hazards is a table of what went wrong, with the hazards of the same faults
// together.
func (e explored) hazards(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "runs\tafter\tviolated\tfirst seed\tsmallest\tscenario")
	for _, group := range explore.ByFaults(e.Causes) {
		for i, c := range group {
			after := ""
			if i == 0 {
				after = c.Least().After()
			}
			fmt.Fprintf(tw, "%d\t%s\t%s\t%d\t%s\t%s\n", c.Count, after, c.Least().Violation(), c.FirstSeed, smallest(c), e.where(c))
		}
	}
	return tw.Flush()
}

// smallest is how small a find could be made.
func smallest(c explore.Found) string {
	if c.Shrunk == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", english.Count(c.Shrunk.Size.Clients, "client"), english.Count(c.Shrunk.Size.Ops, "operation"))
}

// where is the file of the smallest scenario that is kept of a find.
func (e explored) where(c explore.Found) string {
	switch {
	case c.Known:
		return "(known)"
	case c.Scenario == "":
		return ""
	case c.Shrunk != nil:
		return e.dir.File(c.Shrunk.Scenario)
	}
	return e.dir.File(c.Scenario)
}

// exploreCommand is how to do the same again.
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

// recalled is a table of the hazards of the catalogue.
func (e explored) recalled(w io.Writer, before, after string) error {
	if len(e.Catalogue) == 0 {
		return nil
	}
	came := 0
	fmt.Fprintf(w, "which hazards of the catalogue came by themselves:\n\n%s", before)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "scenario\tviolated\tafter\tfirst seed\tit takes")
	for _, l := range e.Catalogue {
		seed, takes := "-", "not found"
		if i := slices.IndexFunc(e.Causes, func(c explore.Found) bool { return c.Key == l.By }); i >= 0 {
			seed, takes = fmt.Sprint(e.Causes[i].FirstSeed), e.Causes[i].Least().After()
			came++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", l.Scenario, l.Violation(), l.After(), seed, takes)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%d of %d\n\n", after, came, len(e.Catalogue))
	return err
}

// merged prints what shards of an exploration have shown together.
type merged struct {
	explored
	all explore.Merged
}

// MarshalJSON makes the results themselves the document.
func (m merged) MarshalJSON() ([]byte, error) { return json.Marshal(m.all) }

// Text implements [document].
func (m merged) Text(w io.Writer) error { return m.withShards(w, m.explored.Text) }

// Markdown implements [document].
func (m merged) Markdown(w io.Writer) error { return m.withShards(w, m.explored.Markdown) }

func (m merged) withShards(w io.Writer, print func(io.Writer) error) error {
	if err := print(w); err != nil || m.all.Of == 1 {
		return err
	}
	text := fmt.Sprintf("%d of %s.", len(m.all.Shards), english.Count(m.all.Of, "shard"))
	if len(m.all.Missing) > 0 {
		text = missingWords(m.all.Missing, m.all.Of) + "."
	}
	_, err := fmt.Fprintln(w, strings.ToUpper(text[:1])+text[1:])
	return err
}
