package reports

import (
	"cmp"
	"slices"
)

const (
	axisApart = 7.0  // least distance of two instants, in pixels
	axisBreak = 40.0 // width of a break

	breakFrom = 4   // the axis breaks a stretch that is longer than this many times all the others,
	breakTo   = 100 // unless the others are negligible beside it
	maxBreaks = 2
)

// brokenAxis places instants on a line. Distances are proportional, with two
// exceptions. The axis breaks a stretch without events that would leave no room
// for the rest. It keeps two instants at least a few pixels apart, so that their
// order shows.
type brokenAxis struct {
	at     []int64   // in order, no instant twice
	x      []float64 // their positions
	edge   float64   // where later instants are
	broken []bool    // whether the axis breaks the stretch from an instant to the next
}

// newBrokenAxis makes an axis from left to right for instants in any order. Later
// instants are on the edge. It breaks no stretch for which whole is true.
func newBrokenAxis(instants []int64, left, right, edge float64, whole func(from, to int64) bool) *brokenAxis {
	slices.Sort(instants)
	a := &brokenAxis{at: slices.Compact(instants), edge: edge}
	n := len(a.at) - 1
	a.broken = make([]bool, n)
	room := right - left - axisBreak*float64(a.breakUp(whole))

	// Stretches that would get too little get the minimum; the others share the
	// rest. This repeats until nothing changes.
	width := make([]float64, n)
	for changed := true; changed; {
		changed = false
		free, length := room, int64(0)
		for i := range n {
			switch {
			case a.broken[i]:
				width[i] = axisBreak
			case width[i] == axisApart:
				free -= axisApart
			default:
				length += a.length(i)
			}
		}
		for i := range n {
			if a.broken[i] || width[i] == axisApart {
				continue
			}
			if width[i] = free * float64(a.length(i)) / float64(length); width[i] <= axisApart {
				width[i], changed = axisApart, true
			}
		}
	}
	a.x = append(a.x, left)
	for i := range n {
		a.x = append(a.x, a.x[i]+width[i])
	}
	return a
}

func (a *brokenAxis) length(i int) int64 { return a.at[i+1] - a.at[i] }

// breakUp breaks the longest stretch, or the two longest if neither stands out,
// and returns their number. It breaks no more, because some stretch always looks
// long beside the rest.
func (a *brokenAxis) breakUp(whole func(from, to int64) bool) int {
	var byLength []int
	var rest int64
	for i := range a.broken {
		byLength = append(byLength, i)
		rest += a.length(i)
	}
	slices.SortStableFunc(byLength, func(i, j int) int { return cmp.Compare(a.length(j), a.length(i)) })
	for n, i := range byLength[:min(maxBreaks, len(byLength))] {
		if whole(a.at[i], a.at[i+1]) {
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

// pos is the position of an instant.
func (a *brokenAxis) pos(at int64) float64 {
	last := len(a.at) - 1
	switch i, found := slices.BinarySearch(a.at, at); {
	case found:
		return a.x[i]
	case i == 0:
		return a.x[0]
	case i > last:
		return a.edge
	default:
		return a.x[i-1] + (a.x[i]-a.x[i-1])*float64(at-a.at[i-1])/float64(a.length(i-1))
	}
}

// breaks are the broken parts of the axis.
func (a *brokenAxis) breaks() []stretch {
	var out []stretch
	for i, broken := range a.broken {
		if broken {
			out = append(out, stretch{a.x[i], a.x[i+1]})
		}
	}
	return out
}
