package sweep

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/faults"
)

// boundary is the beginning of overlaps. It lies between a value of the first axis at
// which no run has one, and the next, at which every run has one.
type boundary struct {
	Second  *Value `json:"second,omitempty"` // the value of the second axis
	Without Value  `json:"without"`
	With    Value  `json:"with"`
	// CountWithout and CountWith count the runs at both values.
	CountWithout Count `json:"count_without"`
	CountWith    Count `json:"count_with"`
}

// always reports whether every run had an overlap.
func (c Count) always() bool { return c.Overlaps > 0 && c.Overlaps == c.overlap().Of }

// never reports whether runs were judged and none had an overlap.
func (c Count) never() bool { return c.Overlaps == 0 && c.overlap().Of > 0 }

// random reports whether the seed draws when a fault strikes. Then a value without
// overlaps only has too few seeds, and no boundary exists to be found.
func (p *Plan) random() bool {
	return slices.ContainsFunc(p.Scenario.Faults, func(f faults.Spec) bool { return f.Within > 0 })
}

// bracket looks for two neighbours, one without any overlap and one with nothing
// else, among the counts of an axis. ok is false when there are none: it
// overlaps nowhere, or everywhere, or as chance has it.
func bracket(values []Value, counts []Count) (b boundary, ok bool) {
	for i := 1; i < len(values); i++ {
		low, high := i-1, i
		if counts[low].Overlaps > 0 { // a long lease is safer than a short one
			low, high = high, low
		}
		if counts[low].never() && counts[high].always() {
			return boundary{Without: values[low], With: values[high], CountWithout: counts[low], CountWith: counts[high]}, true
		}
	}
	return boundary{}, false
}

// bisect narrows b until its sides are no farther apart than resolution, or
// one for a number of things. play plays a value. It assumes that the hazard
// only grows from one side to the other. It stops early at a value where only
// some of the runs overlap, because chance decides from there on.
func (a axis) bisect(b boundary, resolution Value, play func(Value) (Count, error)) (boundary, error) {
	if a.Param.Count {
		resolution = max(resolution, 1)
	}
	for abs(b.With-b.Without) > max(resolution, 1) {
		v := a.middle(b.Without, b.With)
		if v == b.Without || v == b.With {
			break
		}
		c, err := play(v)
		if err != nil {
			return b, err
		}
		switch {
		case c.always():
			b.With, b.CountWith = v, c
		case c.never():
			b.Without, b.CountWithout = v, c
		case c.overlap().Of == 0:
			return b, fmt.Errorf("no run at %s could be judged", a.Param.format(v))
		default:
			return b, nil
		}
	}
	return b, nil
}

// middle is a value between two, with as few digits as tell it from both.
func (a axis) middle(x, y Value) Value {
	lo, hi := min(x, y), max(x, y)
	mid := float64(lo) + float64(hi-lo)/2
	for digits := 2; digits < 19 && !a.Param.Count; digits++ {
		v := rounded(mid, digits)
		if quarter := (hi - lo) / 4; v >= lo+quarter && v <= hi-quarter {
			return v
		}
	}
	return Value(mid)
}

// resolution is the distance at which a bisection ends by default: half a percent.
func (b boundary) resolution() Value { return max(1, max(abs(b.With), abs(b.Without))/200) }

func abs(v Value) Value { return max(v, -v) }

// boundary finds where overlaps begin, for every value of the second axis:
// between which of the values that were played, and then by bisection.
// Resolution 0 is half a percent. Where chance decides there is no boundary.
func (r *Result) boundaries(resolution Value, play func(Point) (Count, error)) ([]boundary, error) {
	if r.plan.random() {
		return nil, nil
	}
	first := r.plan.Axes[0]
	var found []boundary
	points := r.plan.Points()
	for from := 0; from < len(points); from += len(first.Values) {
		var counts []Count
		for i := range first.Values {
			counts = append(counts, r.Points[from+i].Count)
		}
		b, ok := bracket(first.Values, counts)
		if !ok {
			continue
		}
		rest := points[from][1:]
		if len(rest) > 0 {
			b.Second = &rest[0]
		}
		near := resolution
		if near == 0 || first.Param.Count {
			near = b.resolution()
		}
		b, err := first.bisect(b, near, func(v Value) (Count, error) { return play(append(Point{v}, rest...)) })
		if err != nil {
			return found, err
		}
		found = append(found, b)
	}
	return found, nil
}
