package linear

// certain is a part of the history that is legal if the whole is. It has the operations
// of every owner before its outcomes became unclear, and the earlier refusals. An illegal
// finding in it stands for the whole; a legal one says nothing.
//
// All operations of an owner from some instant at which it holds nothing can be left out
// together. To all others the lock is only free more often. Refusals mind that, so they
// are left out as soon as anything is. An owner whose last hold ends in a release of
// unknown outcome may keep that release as its last operation. Whatever really ended the
// hold, the release can have done so.
//
// The operations must be sorted by call. Where an owner does two things at
// once, nothing is certain.
func certain(ops []Op, r Rules) []Op {
	cuts, whole, ok := cut(ops, r)
	if !ok {
		return nil
	}
	var out []Op
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Kind == TookAndGave || int32(i) >= cuts[o.Owner].from && int32(i) != cuts[o.Owner].keep:
		case o.Kind == FoundBusy && o.Return >= whole:
		default:
			out = append(out, *o)
			if int32(i) == cuts[o.Owner].keep {
				out[len(out)-1].Return = Forever
			}
		}
	}
	return out
}

// ownerCut is where an owner's operations are cut off.
type ownerCut struct {
	from    int32 // the first one left out
	keep    int32 // of those, the release that is kept; -1 for none
	count   int32
	first   int32 // where its running hold began
	open    int32 // an operation of unknown outcome that it may go on after; -1 for none
	ret     int64 // of its latest operation
	phantom int64 // until when it may hold through a failed acquire
}

// cut finds where every owner becomes unclear, and the time from which
// something is left out; ok is false if some owner does two things at once.
func cut(ops []Op, r Rules) (cuts []ownerCut, whole int64, ok bool) {
	whole = Forever
	for i := range ops {
		o := &ops[i]
		for int(o.Owner) >= len(cuts) {
			cuts = append(cuts, ownerCut{from: int32(len(ops)), keep: -1, open: -1, ret: longPast, phantom: longPast})
		}
		w := &cuts[o.Owner]
		if w.from < int32(len(ops)) {
			continue
		}
		switch {
		case w.open < 0 && w.ret >= o.Call:
			return nil, 0, false
		case o.Kind == TookAndGave:
			w.phantom = max(w.phantom, o.Return+r.Slack)
			whole = min(whole, o.Call)
			continue
		case w.open >= 0: // it goes on
			if w.from = w.open; w.count == 1 && ops[w.open].Kind == MaybeGave {
				w.keep = w.open
			} else if w.count > 0 {
				w.from = w.first
			}
		case w.phantom >= o.Call:
			if w.from = int32(i); w.count > 0 {
				w.from = w.first
			}
		case w.followOp(int32(i), o, r): // still clear
			w.ret = o.Return
			continue
		default:
			w.from = w.first
		}
		whole = min(whole, ops[w.from].Call)
	}
	return cuts, whole, true
}

// followOp follows one operation, and says false when it is unclear whether the
// running hold goes on.
func (w *ownerCut) followOp(i int32, o *Op, r Rules) bool {
	switch o.Kind {
	case GotLock:
		if o.Count == 0 && w.count > 0 {
			return false // nested or not
		}
		if o.Count <= 1 {
			w.first = i
		}
		w.count = max(o.Count, 1)
	case GaveBack, Inspected:
		w.count = o.Count
	case HeldNothing:
		w.count = 0
	case FoundBusy:
		if r.Reentrant {
			w.count = 0
		}
	case FoundLost:
		return w.count == 0 // else it may go on holding
	case MaybeGot, MaybeGave:
		w.open = i
	}
	return true
}
