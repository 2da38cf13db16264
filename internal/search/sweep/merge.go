package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Merge joins results of the same sweep. The order does not matter, and neither
// does it to merge one twice; of a shard that was interrupted and played again
// the whole one counts, or the one with more runs. An error says in what the
// results differ.
func Merge(results ...*Result) (*Result, error) {
	if len(results) == 0 {
		return nil, errors.New("merge sweeps: there is none")
	}
	first := results[0]
	all := *first
	all.Parts, all.Boundaries = nil, nil
	for _, r := range results {
		if why := first.differs(r); why != "" {
			return nil, fmt.Errorf("merge sweeps: they are not of the same sweep: their %s differ", why)
		}
		for _, part := range r.Parts {
			if err := all.join(part); err != nil {
				return nil, err
			}
		}
		all.Interrupted = all.Interrupted && r.Interrupted // what one left out, another may have
		all.Command = min(all.Command, r.Command)
		if compareBoundaries(r.Boundaries, all.Boundaries) > 0 {
			all.Boundaries = slices.Clone(r.Boundaries)
		}
	}
	all.add()
	return &all, nil
}

// compareBoundaries orders what was found by where overlaps begin: more is
// better, and so is closer.
func compareBoundaries(a, b []Boundary) int {
	width := func(b Boundary) Value { return abs(b.With - b.Without) }
	return cmp.Or(len(a)-len(b), slices.CompareFunc(a, b, func(x, y Boundary) int {
		return cmp.Or(cmp.Compare(width(y), width(x)), cmp.Compare(x.Without, y.Without), compareCounts([]Count{x.CountWithout, x.CountWith}, []Count{y.CountWithout, y.CountWith}))
	}))
}

// compareCounts orders counts, so that a merge takes the same one in every order.
func compareCounts(a, b []Count) int {
	return slices.CompareFunc(a, b, func(x, y Count) int {
		return cmp.Or(x.Runs-y.Runs, x.Overlaps-y.Overlaps, x.Lost-y.Lost, x.OverlapsUnknown-y.OverlapsUnknown, x.LostUnknown-y.LostUnknown)
	})
}

// join takes over a part, unless there is as good a one already.
func (r *Result) join(part Part) error {
	i := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Shard == part.Shard })
	if i < 0 {
		r.Parts = append(r.Parts, part)
		return nil
	}
	have := r.Parts[i]
	switch {
	case have.Complete && part.Complete:
		if !slices.Equal(have.Counts, part.Counts) {
			return fmt.Errorf("merge sweeps: shard %d was played twice, and came out differently", part.Shard)
		}
	case part.Complete, !have.Complete && cmp.Or(runs(part)-runs(have), compareCounts(part.Counts, have.Counts)) > 0:
		r.Parts[i] = part
	}
	return nil
}

func runs(p Part) int {
	n := 0
	for _, c := range p.Counts {
		n += c.Runs
	}
	return n
}

// differs names what two results cannot be merged for, or is "".
func (r *Result) differs(s *Result) string {
	switch {
	case r.Version != s.Version:
		return "versions of holdfast"
	case r.Source != s.Source:
		return "scenarios"
	case r.Lock != s.Lock:
		return "locks"
	case !slices.Equal(r.Over, s.Over):
		return "parameters"
	case r.Seed != s.Seed || r.Seeds != s.Seeds:
		return "seeds"
	case r.Shards != s.Shards:
		return "numbers of shards"
	}
	return ""
}
