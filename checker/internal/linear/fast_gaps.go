package linear

import (
	"cmp"
	"slices"
)

// gaps are the free times between sessions in which acquires were refused.
// Gap k is the one before session k. Such a refusal can only be due to a
// phantom: an acquire that may have held the lock and left no other trace.
//
// A phantom holds once, so it serves one gap. It serves any refusal that returned after
// its call and was called before it returned itself. The refusal was also called before
// its lease ended, counted from the first return it serves. One of a client that is gone
// does not give back: without leases it serves the last gap only.
//
// Where all phantoms are of unknown outcome and their owners went no further, a gap needs
// one. All that were called in time are equally good for all later gaps. Then the choice
// is the best one, and a refusal that is left over is wrong. With phantoms that return it
// is a good choice, no more.
type gaps struct {
	s       *sessions
	refused []refusal
	seen    int     // phantoms called so far
	brief   []int32 // of them, those that return, and are not used yet
	endless []int32 // those that may give back any time
	gone    []int32 // those of clients that are gone
}

type refusal struct{ gap, op int32 }

// phantomUse is a phantom that held the lock in a gap, and whom it kept out.
type phantomUse struct {
	gap, phantom int32
	refused      []refusal
}

// addRefusal notes a refusal. Refusals come by call, and therefore by gap.
func (g *gaps) addRefusal(gap int, op int32) {
	g.refused = append(g.refused, refusal{int32(gap), op})
}

// choosePhantoms finds a phantom for every refusal, or returns one that is left over.
func (g *gaps) choosePhantoms() (all []phantomUse, left *refusal) {
	for i := 0; i < len(g.refused); {
		k := i
		for k < len(g.refused) && g.refused[k].gap == g.refused[i].gap {
			k++
		}
		group := g.refused[i:k]
		g.brief = slices.DeleteFunc(g.brief, func(k int32) bool { return g.s.ops[k].Return < g.op(group[0]).Call })
		slices.SortStableFunc(group, func(a, b refusal) int { return cmp.Compare(g.op(a).Return, g.op(b).Return) })
		for len(group) > 0 {
			phantom := g.choosePhantom(group)
			if phantom < 0 {
				return nil, &group[0]
			}
			n := max(1, g.countServed(phantom, group))
			all = append(all, phantomUse{group[0].gap, phantom, group[:n]})
			group = group[n:]
		}
		i = k
	}
	return all, nil
}

func (g *gaps) op(f refusal) *Op { return &g.s.ops[f.op] }

// serves reports whether a phantom that was called in time serves a refusal.
func (g *gaps) serves(phantom int32, f refusal) bool {
	o, by := g.op(f), &g.s.ops[phantom]
	return by.Return >= o.Call && !(g.s.r.Reentrant && by.Owner == o.Owner)
}

// countServed counts the refusals of a gap, from the first on, that a phantom serves.
func (g *gaps) countServed(phantom int32, group []refusal) int {
	by, until := &g.s.ops[phantom], Forever
	if by.Kind == MaybeGot {
		until = add(g.op(group[0]).Return, by.Lease)
	}
	n := 0
	for n < len(group) && g.serves(phantom, group[n]) && g.op(group[n]).Call <= until {
		n++
	}
	return n
}

// choosePhantom takes a phantom for the first of a gap's refusals. It prefers one that
// serves them all and returns soonest, then one that never returns, then any.
func (g *gaps) choosePhantom(group []refusal) int32 {
	f := g.op(group[0])
	for ; g.seen < len(g.s.phantoms) && g.s.ops[g.s.phantoms[g.seen]].Call <= f.Return; g.seen++ {
		switch k := g.s.phantoms[g.seen]; {
		case g.s.ops[k].Crashed:
			g.gone = append(g.gone, k)
		case g.s.ops[k].Return < Forever:
			g.brief = append(g.brief, k)
		default:
			g.endless = append(g.endless, k)
		}
	}
	endless, gone := g.latestServing(g.endless, group[0]), g.latestServing(g.gone, group[0])
	if last := int(group[0].gap) == len(g.s.list); last && gone >= 0 {
		return pop(&g.gone, gone)
	}
	best, most := -1, 0
	for i, k := range g.brief {
		n := g.countServed(k, group)
		if n > most || n > 0 && n == most && g.s.ops[k].Return < g.s.ops[g.brief[best]].Return {
			best, most = i, n
		}
	}
	switch {
	case most == len(group):
		return pop(&g.brief, best)
	case endless >= 0:
		return pop(&g.endless, endless)
	case best >= 0:
		return pop(&g.brief, best)
	case g.s.leased && gone >= 0:
		return pop(&g.gone, gone)
	}
	return -1
}

// latestServing is the last of some phantoms that serves a refusal, -1 for none.
func (g *gaps) latestServing(of []int32, f refusal) int {
	for i := len(of) - 1; i >= 0; i-- {
		if g.serves(of[i], f) {
			return i
		}
	}
	return -1
}

func pop(from *[]int32, i int) int32 {
	k := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return k
}
