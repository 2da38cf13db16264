package linear

import (
	"cmp"
	"slices"
)

// core is the time in which a hold was there, in whatever order the operations took effect.
type core struct {
	from, to int64
	op       *Op
}

// coresOf lists the cores of all holds, as they begin. A core begins at the return of an
// acquire. It ends when the lease may end, or when an operation of the owner that may end
// the hold is called.
func coresOf(ops []Op, r Rules) (cores []core) {
	others := map[int32][]*Op{}
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case GotLock, MaybeGot, TookAndGave, FoundBusy, Inspected:
		default:
			others[o.Owner] = append(others[o.Owner], o)
		}
	}
	for i := range ops {
		o := &ops[i]
		if o.Kind != GotLock {
			continue
		}
		to := add(o.Call, o.Lease)
		if o.MayEnd > 0 {
			to = min(to, max(o.Call, o.MayEnd))
		}
		to = add(to, -r.Slack)
		for _, x := range others[o.Owner] {
			if x.Return >= o.Call {
				to = min(to, x.Call)
			}
		}
		if to > o.Return {
			cores = append(cores, core{o.Return, to, o})
		}
	}
	slices.SortStableFunc(cores, func(a, b core) int { return cmp.Compare(a.from, b.from) })
	return cores
}

// tooManyCores rules on a history in which more was held at one time than there is room for.
// Nothing is open in it, and the search would look at all orders of what else happened.
func tooManyCores(ops []Op, r Rules) Ruling {
	var inside []core
	for _, c := range coresOf(ops, r) {
		inside = append(slices.DeleteFunc(inside, func(x core) bool { return x.to <= c.from }), c)
		var weight int32
		var in []*Op
		for _, x := range inside {
			if !slices.ContainsFunc(inside, func(y core) bool { return y.op.Owner == x.op.Other && y.op.Weight > x.op.Weight }) {
				weight += x.op.Weight
				in = append(in, x.op)
			}
		}
		if weight > r.Capacity {
			slices.Reverse(in) // the last one first
			v := contradiction(in, "no order of the operations allows that one")
			v.At, v.settled = c.from, true
			return v
		}
	}
	return undecided("nothing shows too many holds at once")
}
