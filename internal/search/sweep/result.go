package sweep

import "github.com/holdfast-go/holdfast/internal/search"

// Result is the result of a sweep, or of some of its shards.
// It implements [search.Results].
type Result struct {
	search.Envelope
	Scenario string `json:"scenario"`
	Source   string `json:"source"` // of the scenario, as a file
	Lock     string `json:"lock"`
	// Over are the axes as they were given, and Axes the values that came of
	// them: nanoseconds, or a number of things.
	Over []string     `json:"over"`
	Axes []axisValues `json:"axes"`
	// Seeds are played at every point, the same ones, counting up from Seed. Shard i
	// of n plays the first seed plus i-1, and then every n-th one.
	Seed  uint64 `json:"seed"`
	Seeds int    `json:"seeds"`
	// Counts are the runs at each point.
	Counts []Count `json:"counts"`
	// Points are the same with the probabilities; they follow from the rest. The
	// shards among Shards have none.
	Points []resultPoint `json:"points,omitempty"`
	// Boundaries are where overlaps begin, one for each value of the second
	// axis that has one. Of a part of the shards they are not known.
	Boundaries []boundary `json:"boundaries,omitempty"`
	// Shards are those that these results add up, in order.
	Shards []*Result `json:"shards,omitempty"`

	plan *Plan
}

type axisValues struct {
	Param  string  `json:"param"`
	Values []Value `json:"values"`
}

// resultPoint is one point, with how likely an overlap and a lost update are
// there; the intervals are Wilson's, of 95 %.
type resultPoint struct {
	At []string `json:"at"` // the values, as the command line has them
	Count
	Overlap    chance `json:"overlap"`
	LostUpdate chance `json:"lost_update"`
}

type chance struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func chanceOf(p proportion) chance {
	low, high := p.interval()
	return chance{p.share(), low, high}
}

const InterruptedWords = "Interrupted: not everything was played, or where overlaps begin was not found"

func newResult(o Options) (*Result, error) {
	src, err := o.Plan.Scenario.YAML()
	if err != nil {
		return nil, err
	}
	r := &Result{
		Envelope: search.Envelope{Header: search.NewHeader(kindName, o.Command), Shard: o.Shard.Index, Of: o.Shard.Of},
		Scenario: o.Plan.Scenario.Name, Source: string(src), Lock: o.Lock, Over: o.Over, Seed: o.Seed, Seeds: o.Seeds, plan: o.Plan,
	}
	for _, a := range o.Plan.Axes {
		r.Axes = append(r.Axes, axisValues{a.Param.Name, a.Values})
	}
	r.take(make([]Count, len(o.Plan.Points())))
	return r, nil
}

func (r *Result) take(counts []Count) {
	r.Counts, r.Points = counts, nil
	for i, at := range r.plan.Points() {
		c := counts[i]
		point := resultPoint{Count: c, Overlap: chanceOf(c.overlap()), LostUpdate: chanceOf(c.lostUpdate())}
		for j, a := range r.plan.Axes {
			point.At = append(point.At, a.Param.format(at[j]))
		}
		r.Points = append(r.Points, point)
	}
}

// Question is the question that the sweep answers: the title of its scenario.
func (r *Result) Question() string { return r.plan.Scenario.Title }
