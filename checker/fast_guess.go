package checker

import "slices"

// An owner that goes on after an operation with unknown outcome usually tells
// by its next reply what became of it: a count one higher, a hold that is gone.
// guess takes that word for the truth and writes the history that results. It
// has fewer ways to be legal than the given one, so when it is legal, the given
// one is; when it is not, nothing follows.
//
// An unknown acquire that left no trace may still have held the lock for a while
// before its owner's next telling reply; it is marked as stray.
//
// The operations must be sorted by call. They are changed where they are: most
// of a long history stays as it is, and need not be copied. undo puts the rest
// back.
func guess(ops []lockOp, r rules) (undo func()) {
	g := guesser{r: r, ops: ops}
	for i := range g.ops {
		o := &g.ops[i]
		for int(o.owner) >= len(g.owners) {
			g.owners = append(g.owners, guessed{})
		}
		g.next(int32(i), o, &g.owners[o.owner])
	}
	for k := range g.owners {
		g.last(&g.owners[k])
	}
	return func() {
		for _, c := range g.changed {
			g.ops[c.op] = c.was
		}
	}
}

type guesser struct {
	r       rules
	ops     []lockOp
	owners  []guessed
	changed []guessedOp
}

// guessedOp is an operation as it was.
type guessedOp struct {
	op  int32
	was lockOp
}

// guessed is how far one owner has come.
type guessed struct {
	count int32   // as of its last reply
	open  []int32 // its operations of unknown outcome since then
}

func (g *guesser) next(i int32, o *lockOp, w *guessed) {
	before := w.count // the count that the reply tells, as it was before o
	after := before
	switch o.kind {
	case gotLock:
		switch {
		case o.count > 0:
			before, after = o.count-1, o.count
		case g.r.reentrant:
			after = before + 1
		default:
			before, after = 0, 1
		}
	case foundBusy:
		if g.r.reentrant || before > 0 && g.gives(w) {
			before, after = 0, 0
		} else if len(w.open) > 0 {
			return // it tells nothing
		}
	case gaveBack:
		before, after = o.count+1, o.count
	case heldNothing, foundLost:
		before, after = 0, 0
	case inspected:
		before, after = o.count, o.count
	case tookAndGave:
		return
	case maybeGot, maybeGave:
		w.open = append(w.open, i)
		return
	}
	for _, k := range w.open {
		g.settle(k, w, before, max(g.ops[k].call, o.call-1))
	}
	w.count, w.open = after, w.open[:0]
}

// gives says whether an open operation may have been a release.
func (g *guesser) gives(w *guessed) bool {
	return slices.ContainsFunc(w.open, func(k int32) bool { return g.ops[k].kind == maybeGave })
}

// settle decides on one open operation: it happened, by the time given, if
// that brings the count closer to what it must become.
func (g *guesser) settle(k int32, w *guessed, before int32, by int64) {
	o := &g.ops[k]
	g.changed = append(g.changed, guessedOp{k, *o})
	known := o.ret < forever // when it took effect, if at all
	switch {
	case o.kind == maybeGot && w.count < before:
		w.count++
		o.kind, o.count, o.ret = gotLock, w.count, min(o.ret, by)
	case o.kind == maybeGave && w.count > before:
		w.count--
		o.kind, o.count, o.ret = gaveBack, w.count, min(o.ret, by)
	case o.kind == maybeGave && known:
		o.kind = heldNothing
	case o.kind == maybeGot && !o.crashed && !known && w.count == 0:
		o.stray, o.ret = true, by
	default:
		o.owner = 0 // it never happens
	}
}

// last deals with what is open when the history ends. The sessions can do with
// one open operation of an owner, its last.
func (g *guesser) last(w *guessed) {
	for n, k := range w.open {
		o := &g.ops[k]
		switch {
		case o.kind == maybeGave && w.count > 0 && o.ret >= forever:
			// This one ends the hold, whenever it likes.
			for _, later := range w.open[n+1:] {
				g.settle(later, &guessed{}, 0, forever)
			}
			return
		case o.kind == maybeGot && n == len(w.open)-1 && w.count == 0:
			return // may happen
		}
		g.settle(k, w, w.count, forever)
	}
}
