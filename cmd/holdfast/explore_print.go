package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/explore"
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
		if err := e.HazardTable(w, e.dir.File); err != nil {
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
	if err := e.CoverageTable(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", after)
	return err
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
	fmt.Fprintf(w, "which hazards of the catalogue came by themselves:\n\n%s", before)
	came, err := e.RecallTable(w)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n%d of %d\n\n", after, came, len(e.Catalogue))
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
