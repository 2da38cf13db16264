package linear

import (
	"slices"
	"sort"
	"time"
)

// firstIllegal is the return that ends the shortest illegal prefix; 0 when every
// prefix is legal.
func firstIllegal(ops []Op, r Rules, j judge, deadline time.Time) int64 {
	rets := make([]int64, 0, len(ops))
	for i := range ops {
		if ops[i].Return < Forever {
			rets = append(rets, ops[i].Return)
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

// prefix has what had happened by a time: operations that had not returned by
// then have an unknown outcome.
func prefix(ops []Op, by int64) []Op {
	n := 0
	for i := range ops {
		if ops[i].Call <= by {
			n++
		}
	}
	out := make([]Op, 0, n)
	for _, o := range ops {
		if o.Call > by {
			continue
		}
		if o.Return > by {
			switch o.Kind {
			case GotLock, MaybeGot:
				o.Kind, o.Return = MaybeGot, Forever
			case FoundBusy, Inspected:
				continue
			case TookAndGave:
			default:
				o.Kind, o.Return = MaybeGave, Forever
			}
		}
		out = append(out, o)
	}
	return out
}
