package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/explore"
	"github.com/holdfast-go/holdfast/internal/english"
)

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

// merged prints what shards of an exploration have shown together.
type merged struct {
	explore.Printed
	all explore.Merged
}

// MarshalJSON makes the results themselves the document.
func (m merged) MarshalJSON() ([]byte, error) { return json.Marshal(m.all) }

// Text implements [document].
func (m merged) Text(w io.Writer) error { return m.withShards(w, m.Printed.Text) }

// Markdown implements [document].
func (m merged) Markdown(w io.Writer) error { return m.withShards(w, m.Printed.Markdown) }

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
