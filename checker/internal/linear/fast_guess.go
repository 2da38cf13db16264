package linear

import "slices"

// The next reply of an owner usually shows the fate of an operation with unknown outcome:
// a count one higher, a hold that is gone. guess takes that word for the truth and writes
// the history that results. It has fewer ways to be legal than the given one, so when it
// is legal, the given one is; when it is not, nothing follows.
//
// An unknown acquire that left no trace may still have held the lock for a while
// before its owner's next telling reply; it is marked as stray.
//
// The operations must be sorted by call. They are changed where they are: most of a long
// history stays as it is, and need not be copied. undo puts the rest back.
func guess(ops []Op, r Rules) (undo func()) {
	g := guesser{r: r, ops: ops}
	for i := range g.ops {
		o := &g.ops[i]
		for int(o.Owner) >= len(g.owners) {
			g.owners = append(g.owners, guessed{})
		}
		g.followOp(int32(i), o, &g.owners[o.Owner])
	}
	for k := range g.owners {
		g.settleLast(&g.owners[k])
	}
	return func() {
		for _, c := range g.changed {
			g.ops[c.op] = c.was
		}
	}
}

type guesser struct {
	r       Rules
	ops     []Op
	owners  []guessed
	changed []guessedOp
}

type guessedOp struct {
	op  int32
	was Op
}

// guessed is the state of one owner so far.
type guessed struct {
	count int32   // as of its last reply
	open  []int32 // its operations of unknown outcome since then
}

func (g *guesser) followOp(i int32, o *Op, w *guessed) {
	before := w.count // by the reply, and before o
	after := before
	switch o.Kind {
	case GotLock:
		switch {
		case o.Count > 0:
			before, after = o.Count-1, o.Count
		case g.r.Reentrant:
			after = before + 1
		default:
			before, after = 0, 1
		}
	case FoundBusy:
		if g.r.Reentrant || before > 0 && slices.ContainsFunc(w.open, func(k int32) bool { return g.ops[k].Kind == MaybeGave }) {
			before, after = 0, 0
		} else if len(w.open) > 0 {
			return // it shows nothing
		}
	case GaveBack:
		before, after = o.Count+1, o.Count
	case HeldNothing, FoundLost:
		before, after = 0, 0
	case Inspected:
		before, after = o.Count, o.Count
	case TookAndGave:
		return
	case MaybeGot, MaybeGave:
		w.open = append(w.open, i)
		return
	}
	for _, k := range w.open {
		g.settleOp(k, w, before, max(g.ops[k].Call, o.Call-1))
	}
	w.count, w.open = after, w.open[:0]
}

// settleOp decides on one open operation: it happened, by the time given, if
// that brings the count closer to what it must become.
func (g *guesser) settleOp(k int32, w *guessed, before int32, by int64) {
	o := &g.ops[k]
	g.changed = append(g.changed, guessedOp{k, *o})
	known := o.Return < Forever // when it took effect, if at all
	switch {
	case o.Kind == MaybeGot && w.count < before:
		w.count++
		o.Kind, o.Count, o.Return = GotLock, w.count, min(o.Return, by)
	case o.Kind == MaybeGave && w.count > before:
		w.count--
		o.Kind, o.Count, o.Return = GaveBack, w.count, min(o.Return, by)
	case o.Kind == MaybeGave && known:
		o.Kind = HeldNothing
	case o.Kind == MaybeGot && !o.Crashed && !known && w.count == 0:
		o.stray, o.Return = true, by
	default:
		o.Owner = 0 // it never happens
	}
}

// settleLast deals with what is open when the history ends. The sessions can do with
// one open operation of an owner, its last.
func (g *guesser) settleLast(w *guessed) {
	for n, k := range w.open {
		o := &g.ops[k]
		switch {
		case o.Kind == MaybeGave && w.count > 0 && o.Return >= Forever:
			// This one ends the hold, whenever it likes.
			for _, later := range w.open[n+1:] {
				g.settleOp(later, &guessed{}, 0, Forever)
			}
			return
		case o.Kind == MaybeGot && n == len(w.open)-1 && w.count == 0:
			return // may happen
		}
		g.settleOp(k, w, w.count, Forever)
	}
}
