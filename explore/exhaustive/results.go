package exhaustive

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/faults"
)

// Schema names the format of [Results] as JSON.
const Schema = "holdfast-exhaustive/1"

// Results is what every single fault of a lock, or a shard of them, has shown.
type Results struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
	Command string `json:"command"` // how to do it again
	Lock    string `json:"lock"`
	Shard   int    `json:"shard"` // from 1
	Of      int    `json:"of"`    // shards
	// Interrupted says that it was to go on.
	Interrupted bool `json:"interrupted,omitempty"`

	Faults    []string       `json:"faults"`    // the kinds that were placed, sorted
	Durations []string       `json:"durations"` // the classes, shortest first
	Bases     []BaseCounts   `json:"bases"`
	Violated  []Cause        `json:"violated"` // those seen most often first
	Inherent  []Cause        `json:"inherent"` // likewise
	Unknown   map[string]int `json:"unknown"`  // why runs proved nothing, and how many
	Defects   []string       `json:"defects,omitempty"`

	Commands  int     `json:"commands"` // Redis commands that servers executed
	VirtualMS float64 `json:"virtual_ms"`
	WallMS    float64 `json:"wall_ms"`
}

// BaseCounts counts the placements of a base. Those of the first four fields are
// of all shards together.
type BaseCounts struct {
	Name       string         `json:"name"`
	Summary    string         `json:"summary"`
	Moments    int            `json:"moments"`
	Placements int            `json:"placements"`
	NotPlayed  map[string]int `json:"not_played"` // by rule
	Runs
}

// Runs counts runs. A run that is neither in one of the last four fields nor
// unknown kept every promise.
type Runs struct {
	Played    int `json:"played"`
	NotStruck int `json:"not_struck"` // the fault found nothing to strike
	Unknown   int `json:"unknown"`    // proved nothing
	Inherent  int `json:"inherent"`   // violated only what no lock with these claims keeps
	Violated  int `json:"violated"`   // broke a promise that the lock could have kept
}

// Total adds up the runs of all bases.
func (r Results) Total() Runs {
	var sum Runs
	for _, b := range r.Bases {
		sum.Played += b.Played
		sum.NotStruck += b.NotStruck
		sum.Unknown += b.Unknown
		sum.Inherent += b.Inherent
		sum.Violated += b.Violated
	}
	return sum
}

// Cause is what went wrong, after which fault and at which kind of moment.
type Cause struct {
	Property checker.Property `json:"property"`
	Class    string           `json:"class"` // of the reason, without names and numbers
	Fault    string           `json:"fault"` // empty for a base without a fault
	Phase    string           `json:"phase,omitempty"`
	Count    int              `json:"count"` // runs
	// First is the first run in the order of the enumeration: its scenario plays by
	// itself. Source is the scenario, File where it is kept.
	First  string `json:"first"`
	Reason string `json:"reason"` // of the first
	When   string `json:"when,omitempty"`
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
}

// add counts a run among the causes it shares.
func add(causes []Cause, c Cause) []Cause {
	i := slices.IndexFunc(causes, func(o Cause) bool {
		return o.Property == c.Property && o.Class == c.Class && o.Fault == c.Fault && o.Phase == c.Phase
	})
	if i < 0 {
		c.Count = 1
		return append(causes, c)
	}
	causes[i].Count++
	return causes
}

// causeOf is the cause of a violation in a run; p is nil for a base without a
// fault.
func causeOf(v violation, p *Placement, run, source string) Cause {
	c := Cause{Property: v.Property, Class: v.Class, First: run, Reason: v.Reason, Source: source}
	if p != nil {
		c.Fault, c.Phase, c.When = faults.Hazard(p.Fault), p.Phase(), strings.Join(p.Fault.Target, ", ")+" "+faults.When(p.Fault)
	}
	return c
}

// often orders causes, those seen most often first.
func often(causes []Cause) {
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Count, a.Count) })
}
