package pages

import (
	"fmt"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// Replay is one replayed run with its observations, as a JSON document.
type Replay struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	Lock     string `json:"lock"`
	Seed     uint64 `json:"seed"`
	// Same says that the history is the stored one. Otherwise Difference
	// describes the first difference.
	Same       bool   `json:"same"`
	Difference string `json:"difference,omitempty"`
	play.Seen

	words  string           // where it stopped
	stored *history.History // the history as it is in the run directory
	hash   string
}

// Look compares a replayed run with the stored history. words say where the run
// stopped; empty if it did not stop.
func Look(r suite.Replayed, stored *history.History, words string) *Replay {
	run := &Replay{
		Schema: "holdfast-replay/1", Scenario: r.Run.Scenario, Lock: r.Run.Lock, Seed: r.Run.Seed,
		Same: r.Sameness == suite.Same || r.Sameness == suite.SameEvents, Seen: *r.Seen, words: words, stored: stored, hash: r.Hash,
	}
	if !run.Same {
		run.Difference = run.difference(r.Run.HistorySHA256)
	}
	return run
}

// difference describes where the new history differs from the stored one.
func (r *Replay) difference(storedHash string) string {
	if r.State == nil {
		text := fmt.Sprintf("its hash is %.12s, stored %.12s", r.hash, storedHash)
		if r.words != "" {
			text += ", and what it was to stop at never happened"
		}
		return text
	}
	for i, e := range r.State.Events {
		if i >= len(r.stored.Events) || raw(&e) != raw(&r.stored.Events[i]) {
			return fmt.Sprintf("line %d is another", i+2)
		}
	}
	return fmt.Sprintf("lines 2 to %d are the same, something after them is not", len(r.State.Events)+1)
}

// seconds is a time of a run in its trace and its state: seconds, to the
// nanosecond.
func seconds(ns int64) string { return fmt.Sprintf("%.9fs", float64(ns)/1e9) }
