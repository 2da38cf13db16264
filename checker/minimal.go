package checker

import (
	"slices"
	"time"
)

// minimal leaves out of some operations what it can while they still show
// something: owners first, then halves, quarters and so on, then single
// operations. It takes five seconds at most.
func minimal(ops []lockOp, shows func([]lockOp) bool) []lockOp {
	limit := time.Now().Add(5 * time.Second)
	try := func(without func(i int, o *lockOp) bool) bool {
		var rest []lockOp
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
			if !slices.Contains(owners, ops[i].owner) {
				owners = append(owners, ops[i].owner)
			}
		}
		for _, w := range owners {
			if try(func(_ int, o *lockOp) bool { return o.owner == w }) {
				smaller = true
			}
		}
		for size := max(len(ops)/2, 1); size > 0; size /= 2 {
			for from := 0; from < len(ops); {
				if try(func(i int, _ *lockOp) bool { return i >= from && i < from+size }) {
					smaller = true
				} else {
					from += size
				}
			}
		}
	}
	return ops
}
