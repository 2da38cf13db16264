package story

import (
	"cmp"
	"slices"
)

const (
	breakFrom = 4   // the axis breaks a stretch that is longer than this many times all the others,
	breakTo   = 100 // unless the others are negligible beside it
	maxBreaks = 2
)

// Axis places instants on a line. Distances are proportional, with two
// exceptions. The axis breaks a stretch without events that would leave no room
// for the rest. It keeps two instants at least a few pixels apart, so that their
// order shows.
type Axis struct {
	At     []int64   // in order, no instant twice
	X      []float64 // their positions
	Edge   float64   // where later instants are
	broken []bool    // whether the axis breaks the stretch from an instant to the next
}

// NewAxis makes an axis from left to right for instants in any order. Later instants are
// on the edge. Two instants are apart at least, and a break is a gap wide. It breaks no
// stretch for which whole is true.
func NewAxis(instants []int64, left, right, edge, apart, gap float64, whole func(from, to int64) bool) *Axis {
	slices.Sort(instants)
	a := &Axis{At: slices.Compact(instants), Edge: edge}
	n := len(a.At) - 1
	a.broken = make([]bool, n)
	room := right - left - gap*float64(a.breakUp(whole))

	// Stretches that would get too little get the minimum; the others share the
	// rest. This repeats until nothing changes.
	width := make([]float64, n)
	for changed := true; changed; {
		changed = false
		free, length := room, int64(0)
		for i := range n {
			switch {
			case a.broken[i]:
				width[i] = gap
			case width[i] == apart:
				free -= apart
			default:
				length += a.length(i)
			}
		}
		for i := range n {
			if a.broken[i] || width[i] == apart {
				continue
			}
			if width[i] = free * float64(a.length(i)) / float64(length); width[i] <= apart {
				width[i], changed = apart, true
			}
		}
	}
	a.X = append(a.X, left)
	for i := range n {
		a.X = append(a.X, a.X[i]+width[i])
	}
	return a
}

func (a *Axis) length(i int) int64 { return a.At[i+1] - a.At[i] }

// breakUp breaks the longest stretch, or the two longest if neither stands out,
// and returns their number. It breaks no more, because some stretch always looks
// long beside the rest.
func (a *Axis) breakUp(whole func(from, to int64) bool) int {
	var byLength []int
	var rest int64
	for i := range a.broken {
		byLength = append(byLength, i)
		rest += a.length(i)
	}
	slices.SortStableFunc(byLength, func(i, j int) int { return cmp.Compare(a.length(j), a.length(i)) })
	for n, i := range byLength[:min(maxBreaks, len(byLength))] {
		if whole(a.At[i], a.At[i+1]) {
			return 0
		}
		long := a.length(i)
		if rest -= long; long/breakFrom <= rest || long/breakTo > rest {
			continue
		}
		for _, i := range byLength[:n+1] {
			a.broken[i] = true
		}
		return n + 1
	}
	return 0
}

// Pos is the position of an instant.
func (a *Axis) Pos(at int64) float64 {
	last := len(a.At) - 1
	switch i, found := slices.BinarySearch(a.At, at); {
	case found:
		return a.X[i]
	case i == 0:
		return a.X[0]
	case i > last:
		return a.Edge
	default:
		return a.X[i-1] + (a.X[i]-a.X[i-1])*float64(at-a.At[i-1])/float64(a.length(i-1))
	}
}

// Breaks are the broken parts of the axis.
func (a *Axis) Breaks() [][2]float64 {
	var out [][2]float64
	for i, broken := range a.broken {
		if broken {
			out = append(out, [2]float64{a.X[i], a.X[i+1]})
		}
	}
	return out
}
