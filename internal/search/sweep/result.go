package sweep

import (
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-go/holdfast/internal/input"
	"github.com/holdfast-go/holdfast/scenarios"
)

// Schema names the format of [Result] as JSON.
const Schema = "holdfast-sweep/1"

// Result is the result of a sweep, or of some of its shards.
type Result struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Command  string `json:"command"` // how to do it again, without its shard
	Scenario string `json:"scenario"`
	Source   string `json:"source"` // of the scenario, as a file
	Lock     string `json:"lock"`
	// Over are the axes as they were given, and Axes the values that came of
	// them: nanoseconds, or a number of things.
	Over []string     `json:"over"`
	Axes []ResultAxis `json:"axes"`
	// Seeds are played at every point, the same ones, counting up from Seed.
	Seed  uint64 `json:"seed"`
	Seeds int    `json:"seeds"`
	// Shards is how many parts the seeds are played in, and Parts are those
	// that were.
	Shards int    `json:"shards"`
	Parts  []Part `json:"parts"`
	// Missing are the shards that were not played, or not to their end.
	Missing []int `json:"missing,omitempty"`
	// Interrupted says that the command ended before it had played everything,
	// or before it had found where overlaps begin.
	Interrupted bool `json:"interrupted,omitempty"`
	// Points add the parts up; they follow from the rest.
	Points []ResultPoint `json:"points"`
	// Boundaries are where overlaps begin, one for each value of the second
	// axis that has one. Of a part of the shards they are not known.
	Boundaries []Boundary `json:"boundaries,omitempty"`

	plan *Plan
}

// ResultAxis is an axis of a result.
type ResultAxis struct {
	Param  string  `json:"param"`
	Values []Value `json:"values"`
}

// Part has the counts of one shard. Shard i plays the first seed plus i-1, and
// then every n-th seed of n shards.
type Part struct {
	Shard  int     `json:"shard"` // from 1
	Counts []Count `json:"counts"`
	// Complete says that every seed of the shard was played at every point.
	Complete bool `json:"complete"`
}

// ResultPoint is one point, with how likely an overlap and a lost update are
// there; the intervals are Wilson's, of 95 %.
type ResultPoint struct {
	At []string `json:"at"` // the values, as the command line has them
	Count
	Overlap    Chance `json:"overlap"`
	LostUpdate Chance `json:"lost_update"`
}

// Chance is a probability and its interval.
type Chance struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func chanceOf(p proportion) Chance {
	low, high := p.interval()
	return Chance{p.share(), low, high}
}

// InterruptedWords say that a result is interrupted.
const InterruptedWords = "Interrupted: not everything was played, or where overlaps begin was not found"

// newResult is the result of a plan in which nothing has been played.
func newResult(p *Plan, lock, version, command string, over []string, seed uint64, seeds, shards int) (*Result, error) {
	src, err := p.Scenario.YAML()
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: Schema, Version: version, Command: command, Scenario: p.Scenario.Name, Source: string(src), Lock: lock,
		Over: over, Seed: seed, Seeds: seeds, Shards: shards, Parts: []Part{}, plan: p}
	for _, a := range p.Axes {
		r.Axes = append(r.Axes, ResultAxis{a.Param.Name, a.Values})
	}
	r.add()
	return r, nil
}

// take adds what one shard has played.
func (r *Result) take(part Part) {
	r.Parts = append(r.Parts, part)
	r.add()
}

// add puts the parts in order and adds them up.
func (r *Result) add() {
	slices.SortFunc(r.Parts, func(a, b Part) int { return a.Shard - b.Shard })
	r.Points, r.Missing = nil, r.missing()
	for i, at := range r.plan.Points() {
		var sum Count
		for _, part := range r.Parts {
			sum = sum.plus(part.Counts[i])
		}
		point := ResultPoint{Count: sum, Overlap: chanceOf(sum.overlap()), LostUpdate: chanceOf(sum.lostUpdate())}
		for j, a := range r.plan.Axes {
			point.At = append(point.At, a.Param.format(at[j]))
		}
		r.Points = append(r.Points, point)
	}
}

func (r *Result) missing() []int {
	var missing []int
	for shard := 1; shard <= r.Shards; shard++ {
		if !slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Shard == shard && p.Complete }) {
			missing = append(missing, shard)
		}
	}
	return missing
}

// ReadResult reads a stored result. It computes the derived fields anew.
func ReadResult(from io.Reader) (*Result, error) {
	var r Result
	doc, err := input.ReadAll(from, input.MaxDocument)
	if err == nil {
		err = (input.JSON{Unknown: true, Null: true}).Unmarshal(doc, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("read sweep: %w", err)
	}
	if err := checkSchema(r.Schema); err != nil {
		return nil, fmt.Errorf("read sweep: %w", err)
	}
	s, err := scenarios.Parse(r.Scenario+".yaml", []byte(r.Source))
	if err != nil {
		return nil, fmt.Errorf("read sweep: %w", err)
	}
	if r.plan, err = NewPlan(s, r.Over); err != nil {
		return nil, fmt.Errorf("read sweep: %w", err)
	}
	for i, part := range r.Parts {
		if part.Shard < 1 || part.Shard > r.Shards || i > 0 && part.Shard <= r.Parts[i-1].Shard {
			return nil, fmt.Errorf("read sweep: there is no shard %d of %d here", part.Shard, r.Shards)
		}
		if len(part.Counts) != len(r.plan.Points()) {
			return nil, fmt.Errorf("read sweep: shard %d has %d counts for %d points", part.Shard, len(part.Counts), len(r.plan.Points()))
		}
	}
	r.add()
	return &r, nil
}
