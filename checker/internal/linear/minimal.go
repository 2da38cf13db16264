package linear

import (
	"slices"
	"time"
)

// minimal leaves out of some operations what it can while they still show
// something: owners first, then halves, quarters and so on, then single
// operations. It takes five seconds at most.
func minimal(ops []Op, shows func([]Op) bool) []Op {
	limit := time.Now().Add(5 * time.Second)
	try := func(without func(i int, o *Op) bool) bool {
		var rest []Op
		for i := range ops {
			if !without(i, &ops[i]) {
				rest = append(rest, ops[i])
			}
		}
		if len(rest) == len(ops) || time.Now().After(limit) || !shows(rest) {
			return false
		}
		ops = rest
		return true
	}
	for smaller := true; smaller; {
		smaller = false
		var owners []int32
		for i := range ops {
			if !slices.Contains(owners, ops[i].Owner) {
				owners = append(owners, ops[i].Owner)
			}
		}
		for _, w := range owners {
			if try(func(_ int, o *Op) bool { return o.Owner == w }) {
				smaller = true
			}
		}
		for size := max(len(ops)/2, 1); size > 0; size /= 2 {
			for from := 0; from < len(ops); {
				if try(func(i int, _ *Op) bool { return i >= from && i < from+size }) {
					smaller = true
				} else {
					from += size
				}
			}
		}
	}
	return ops
}
