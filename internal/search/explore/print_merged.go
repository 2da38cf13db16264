package explore

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// PrintedShards is what shards of an exploration have shown together, to be printed.
type PrintedShards struct {
	Printed
	All Merged
}

// MarshalJSON makes the results themselves the document.
func (m PrintedShards) MarshalJSON() ([]byte, error) { return json.Marshal(m.All) }

// Text prints them for a terminal.
func (m PrintedShards) Text(w io.Writer) error { return m.withShards(w, m.Printed.Text) }

// Markdown prints them for a page.
func (m PrintedShards) Markdown(w io.Writer) error { return m.withShards(w, m.Printed.Markdown) }

func (m PrintedShards) withShards(w io.Writer, print func(io.Writer) error) error {
	if err := print(w); err != nil || m.All.Of == 1 {
		return err
	}
	text := fmt.Sprintf("%d of %s.", len(m.All.Shards), english.Count(m.All.Of, "shard"))
	if len(m.All.Missing) > 0 {
		text = suite.MissingShards(m.All.Missing, m.All.Of) + "."
	}
	_, err := fmt.Fprintln(w, strings.ToUpper(text[:1])+text[1:])
	return err
}
