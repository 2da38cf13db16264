package checker

import (
	"slices"
	"sort"
	"time"
)

// firstIllegal is the return that ends the shortest illegal prefix, 0 when
// there is none.
func firstIllegal(ops []lockOp, r rules, j judge, deadline time.Time) int64 {
	rets := make([]int64, 0, len(ops))
	for i := range ops {
		if ops[i].ret < forever {
			rets = append(rets, ops[i].ret)
		}
	}
	slices.Sort(rets)
	if len(rets) == 0 {
		return 0
	}
	lo := sort.Search(len(rets)-1, func(i int) bool {
		budget := min(time.Until(deadline), 2*time.Second)
		return j(prefix(ops, rets[i]), r, budget) == Violated
	})
	return rets[lo]
}

// prefix is what had happened by a time: operations that had not returned by
// then have an unknown outcome.
func prefix(ops []lockOp, by int64) []lockOp {
	n := 0
	for i := range ops {
		if ops[i].call <= by {
			n++
		}
	}
	out := make([]lockOp, 0, n)
	for _, o := range ops {
		if o.call > by {
			continue
		}
		if o.ret > by {
			switch o.kind {
			case gotLock, maybeGot:
				o.kind, o.ret = maybeGot, forever
			case foundBusy, inspected:
				continue
			case tookAndGave:
			default:
				o.kind, o.ret = maybeGave, forever
			}
		}
		out = append(out, o)
	}
	return out
}
