package checker

import (
	"slices"
	"sort"
)

// search is sort.Search that first tries a nearby place. Judges go through a history in
// order of time, so the next result is near the last one and in the processor's cache.
func search(n int, place *int, found func(int) bool) int {
	if n == 0 {
		return 0
	}
	at := min(*place, n-1)
	from, to := 0, n
	if found(at) {
		to = at
		for step := 1; step <= at; step *= 2 {
			if !found(at - step) {
				from = at - step + 1
				break
			}
			to = at - step
		}
	} else {
		from = at + 1
		for step := 1; step < n-at; step *= 2 {
			if found(at + step) {
				to = at + step
				break
			}
			from = at + step + 1
		}
	}
	*place = from + sort.Search(to-from, func(i int) bool { return found(from + i) })
	return *place
}

// ends are the ends of intervals sorted by start. They find the intervals that
// reach a time without visiting the others.
type ends struct {
	levels [][]int64 // the first has every end, each other the latest of endsFan in the one below
}

const endsFan = 16

func (x *ends) addEnd(to int64) {
	i := 0
	if len(x.levels) > 0 {
		i = len(x.levels[0])
	}
	for k := 0; ; k++ {
		if k == len(x.levels) {
			x.levels = append(x.levels, nil)
			if k > 0 {
				for block := range slices.Chunk(x.levels[k-1], endsFan) {
					x.levels[k] = append(x.levels[k], slices.Max(block))
				}
			}
		}
		level := &x.levels[k]
		switch {
		case i == len(*level):
			*level = append(*level, to)
		case (*level)[i] < to:
			(*level)[i] = to
		}
		if len(*level) <= endsFan {
			return
		}
		i /= endsFan
	}
}

// lastBefore is the last interval before the i-th that ends at a time or later, or -1.
func (x *ends) lastBefore(i int, from int64) int {
	for k := range x.levels {
		level := x.levels[k]
		for i%endsFan != 0 {
			if i--; level[i] >= from {
				return x.lastWithin(k, i, from)
			}
		}
		if i == 0 {
			return -1
		}
		// The blocks before this one are in the level above.
		if k+1 == len(x.levels) {
			for i > 0 {
				if i--; level[i] >= from {
					return x.lastWithin(k, i, from)
				}
			}
			return -1
		}
		i /= endsFan
	}
	return -1
}

// lastWithin is the last interval of a block that ends at a time or later; there
// must be one.
func (x *ends) lastWithin(k, i int, from int64) int {
	for ; k > 0; k-- {
		below := x.levels[k-1]
		i = min((i+1)*endsFan, len(below)) - 1
		for below[i] < from {
			i--
		}
	}
	return i
}
