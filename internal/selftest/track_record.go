package selftest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/gallery"
	"github.com/holdfast-go/holdfast/internal/search"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// TrackRecord is the result of the hunts, and the JSON document that the command
// prints.
type TrackRecord struct {
	search.Header
	Mutants []mutantRow   `json:"mutants"`
	Summary galleryCounts `json:"summary"`
	Flaws
}

type galleryCounts struct {
	Mutants  int `json:"mutants"`
	Killed   int `json:"killed"`
	Survived int `json:"survived"`
	// Score is absent if some hunts are not over.
	Score *float64 `json:"score,omitempty"`
	Runs  int      `json:"runs"`
}

type mutantRow struct {
	aim
	Cause   string    `json:"cause"`
	Shipped string    `json:"shipped"`
	Passes  int       `json:"passes"` // over the scenarios, in all trials
	Runs    int       `json:"runs"`
	Killers []KillRow `json:"killed_by"`
	// Seeds, VirtualMS and WallMS are the medians of the trials until the first
	// kill. Seeds is 0 if most trials had none.
	Seeds     int          `json:"median_seeds"`
	VirtualMS float64      `json:"median_virtual_ms"`
	WallMS    float64      `json:"median_wall_ms"`
	Trials    []*huntTrial `json:"trials"`
	Unknown   []string     `json:"unknown,omitempty"` // verdicts that were to be ok
}

// KillRow is a killer of a mutant, with the number of its passes.
type KillRow struct {
	Scenario string           `json:"scenario"`
	Property checker.Property `json:"property"`
	Passes   int              `json:"passes"`
}

const (
	killed   = "killed"
	Survived = "survived"
)

func newTrackRecord(command string, hunts []*hunt) *TrackRecord {
	r := &TrackRecord{Header: search.NewHeader("gallery", command), Mutants: []mutantRow{}}
	for _, h := range hunts {
		m := h.row()
		r.Mutants = append(r.Mutants, m)
		r.Summary.Mutants++
		r.Summary.Runs += m.Runs
		switch m.Status {
		case killed:
			r.Summary.Killed++
		case Survived:
			r.Summary.Survived++
		}
		r.collect(h.campaign)
	}
	if s := &r.Summary; s.Mutants > 0 && s.Killed+s.Survived == s.Mutants {
		s.Score = new(float64(s.Killed) / float64(s.Mutants))
	}
	return r
}

func (h *hunt) row() mutantRow {
	m := mutantRow{
		aim: sought(h.mutant, unfinished), Cause: gallery.Causes[h.mutant.Class], Shipped: h.mutant.Shipped,
		Passes: h.passes, Runs: h.passes * len(h.pass), Killers: []KillRow{}, Trials: h.trials,
	}
	for _, c := range h.ordered(h.kills) {
		m.Killers = append(m.Killers, KillRow{c.scenario, c.property, h.kills[c]})
	}
	m.Unknown = english.Words(h.ordered(h.unknown), killer.String)
	over := slices.DeleteFunc(slices.Clone(h.trials), func(t *huntTrial) bool { return !t.done() })
	if len(m.Killers) > 0 {
		m.Status = killed
	} else if len(over) == len(h.trials) {
		m.Status = Survived
	}
	slices.SortStableFunc(over, func(a, b *huntTrial) int { // trials without a kill come last
		if a.Killed != b.Killed {
			return map[bool]int{true: -1, false: 1}[a.Killed]
		}
		return cmp.Compare(a.Seeds, b.Seeds)
	})
	if n := len(over); n > 0 && over[midpoint(n)].Killed {
		m.Seeds = over[midpoint(n)].Seeds
		hits := slices.DeleteFunc(over, func(t *huntTrial) bool { return !t.Killed })
		m.VirtualMS = median(hits, func(t *huntTrial) float64 { return t.VirtualMS })
		m.WallMS = median(hits, func(t *huntTrial) float64 { return t.WallMS })
	}
	return m
}

// median is the lower one of an even number.
func median(trials []*huntTrial, of func(*huntTrial) float64) float64 {
	sorted := slices.SortedFunc(slices.Values(trials), func(a, b *huntTrial) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[midpoint(len(sorted))])
}

// ordered sorts killers by passes, then by the order of the scenarios and of the
// properties.
func (h *hunt) ordered(counts map[killer]int) []killer {
	place := func(c killer) int {
		s := slices.IndexFunc(h.pass, func(j suite.Job) bool { return j.Scenario == c.scenario })
		p := slices.IndexFunc(checker.Properties(), func(i checker.PropertyInfo) bool { return i.Name == c.property })
		return s*len(checker.Properties()) + p
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b killer) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(place(a), place(b)))
	})
}

// Alive names the mutants that survived, with the mistake of each.
func (r *TrackRecord) Alive() Alive {
	a := Alive{Flaws: r.Flaws, Sofar: fmt.Sprintf("%s of %d killed", english.Count(r.Summary.Killed, "mutant"), r.Summary.Mutants), Status: Survived}
	for _, m := range r.Mutants {
		if m.Status != Survived {
			continue
		}
		a.Names = append(a.Names, m.Name)
		a.Hints = append(a.Hints, m.shown("no scenario"))
		if len(m.Unknown) > 0 {
			a.Hints = append(a.Hints, fmt.Sprintf("of %s, %s came out unknown, which kills nothing", m.Name, m.Unknown[0]))
		}
	}
	a.Hints = append(a.Hints, "a mutant that survives is a hole in the catalogue or in a property; more --seeds may show a rare one")
	return a
}
