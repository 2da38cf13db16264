package search

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/internal/version"
)

// Schema names the format of the documents of all searches and self-tests as JSON. The
// kind of a document says which fields follow its [Header].
const Schema = "holdfast-search/1"

// Header begins every such document.
type Header struct {
	Schema  string `json:"schema"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Command string `json:"command"` // repeats the search
}

func NewHeader(kind, command string) Header { return Header{Schema, kind, version.Holdfast, command} }

// Envelope begins the document of a search that shards can share.
type Envelope struct {
	Header
	Shard int `json:"shard"` // from 1; 0 for several together
	Of    int `json:"of"`    // shards
	// Interrupted is true if the command ended before it had played everything.
	Interrupted bool `json:"interrupted,omitempty"`
	// Missing are the shards that are not among those together, or not whole.
	Missing []int `json:"missing,omitempty"`
}

// Common returns the envelope of results that embed it.
func (e Envelope) Common() Envelope { return e }

// IsShard reports whether other shards have the rest of the search.
func (e Envelope) IsShard() bool { return e.Shard > 0 && e.Of > 1 }

// Lacks names the missing shards in a sentence; empty for none.
func (e Envelope) Lacks() string {
	if len(e.Missing) == 0 {
		return ""
	}
	return english.Upper(suite.MissingShards(e.Missing, e.Of)) + "."
}

// Together says how many shards some results add up; empty unless they are shards of
// several.
func (e Envelope) Together(shards int) string {
	if shards == 0 || e.Of < 2 {
		return ""
	}
	if lacks := e.Lacks(); lacks != "" {
		return lacks
	}
	return fmt.Sprintf("%d of %s.", shards, english.Count(e.Of, "shard"))
}

// Results are the results of a search: of the whole, of one shard, or of several
// together. They are the document, and R is their own type.
type Results[R any] interface {
	Common() Envelope
	// About are the options that all shards of a search share.
	About() []Option
	// Parts are the shards that these results add up; they themselves if they are of
	// one.
	Parts() []R
	// Sum adds up shards that are in order. The envelope is that of the sum.
	Sum(e Envelope, shards []R) R
	// Played is the number of runs that a shard has played. Of two plays of a shard the
	// one with more contains the other.
	Played() int
	// Whole reports whether a shard has played everything.
	Whole() bool
	// Exceeds names something that these results show and others do not, although those
	// played as much of the same shard or more. It is empty if there is nothing.
	Exceeds(longer R) string
	// Check refuses what no search writes, and prepares results that were read.
	Check() error
	// Files are the files beside the document that the search may write.
	Files() []string
	// Flaws are the defects of Holdfast that the search has shown.
	Flaws() []string
}

// Option is an option of a search with its value.
type Option struct {
	Name  string
	Value any
}
