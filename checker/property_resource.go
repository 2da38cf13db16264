package checker

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// ResourceSafe: The guarded resource loses no update and, when fenced, accepts no stale write.
const ResourceSafe Property = "resource"

var resourceProperty = property{
	PropertyInfo: PropertyInfo{
		Name: ResourceSafe, Promise: "The guarded resource loses no update and, when fenced, accepts no stale write.",
		Broken: "the guarded resource loses an update",
	},
	harm:    always(LostUpdates),
	claimed: func(h *history.Header) bool { return h.Resource != nil },
	judge:   plainly(func(t *trace) Verdict { return resourceJudge{t}.judge() }),
}

type resourceJudge struct{ *trace }

// judge finds writes that overwrote another value than their writer had
// read: the update in between is lost. A reader that reads twice must not see one
// either. A fenced resource must also refuse a token older than one that it has accepted.
func (j resourceJudge) judge() Verdict {
	writes := make([]*op, 0, len(j.ops))
	uses := make([]*op, 0, len(j.ops)) // that go by what their owner has read before
	for _, o := range j.ops {
		if o.f == history.Write && o.kind == history.OK {
			writes = append(writes, o)
		}
		if o.kind == history.OK && (o.f == history.Write || o.f == history.Read && o.args.Base != 0) {
			uses = append(uses, o)
		}
	}
	v := Verdict{Outcome: OutcomeOK}
	var worst *op
	lost, excused := 0, 0
	for _, w := range uses {
		if w.res.Value == w.args.Base {
			continue
		}
		lost++
		why := j.whyWriteInherent(w)
		if why != "" {
			excused++
		}
		first := worst == nil || why == "" && v.Inherent != "" || (why == "") == (v.Inherent == "") && ms(w.ret) < ms(worst.ret)
		if first {
			worst, v.Inherent = w, why
		}
	}
	if worst != nil {
		v = inherently(j.lostUpdate(worst, writes), v.Inherent)
		v.Excused = excused
		switch {
		case worst.f == history.Read:
		case lost > 1:
			v.Reason = english.Count(lost, "update") + " lost; the first: " + v.Reason
		default:
			v.Reason = "1 update lost: " + v.Reason
		}
		return v
	}
	if !j.h.Header.Resource.Fenced {
		return v
	}
	for _, lock := range j.locks {
		v = earlier(v, staleWrite(slices.DeleteFunc(slices.Clone(writes), func(w *op) bool { return w.lock != lock })))
	}
	return v
}

// staleWrite finds an accepted write with a token older than one accepted before.
// All writes belong to one lock, because tokens of different locks have no order.
func staleWrite(writes []*op) Verdict {
	tokens := newWrittenTokens(writes)
	for _, w := range writes {
		if tokens.before(w.inv) <= w.args.Token {
			continue
		}
		for _, before := range writes {
			if before.ret < w.inv && before.args.Token > w.args.Token {
				return violation(w.ret, opIDs(w, before), "the write of %s with token %d was accepted at %s, after one of %s with token %d at %s",
					w.owner, w.args.Token, at(w.ret), before.owner, before.args.Token, at(before.ret))
			}
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// writtenTokens are the greatest tokens of writes so far, by return.
type writtenTokens struct {
	rets    []int64
	highest []uint64
}

func newWrittenTokens(writes []*op) writtenTokens {
	byReturn := slices.Clone(writes)
	slices.SortStableFunc(byReturn, func(a, b *op) int { return cmp.Compare(a.ret, b.ret) })
	var x writtenTokens
	var high uint64
	for _, w := range byReturn {
		high = max(high, w.args.Token)
		x.rets, x.highest = append(x.rets, w.ret), append(x.highest, high)
	}
	return x
}

func (x writtenTokens) before(when int64) uint64 {
	i, _ := slices.BinarySearch(x.rets, when)
	if i == 0 {
		return 0
	}
	return x.highest[i-1]
}

// lostUpdate describes a write that overwrote a value which its writer never saw.
func (j resourceJudge) lostUpdate(w *op, writes []*op) Verdict {
	var read, between *op
	for _, o := range j.ops {
		if o.f == history.Read && (o.owner == w.owner || o.owner == j.other[w.owner]) && o.lock == w.lock && o.kind == history.OK && o.inv < w.inv {
			read = o
		}
	}
	for _, o := range writes {
		if o != w && o.lock == w.lock && o.args.Value == w.res.Value && o.inv <= w.ret && (between == nil || o.ret > between.ret) {
			between = o
		}
	}
	if w.f == history.Read {
		return violation(w.ret, opIDs(read, w), "%s had read %d and, under the same hold, read %d at %s: somebody wrote meanwhile",
			w.owner, w.args.Base, w.res.Value, at(w.ret))
	}
	if between == nil {
		return violation(w.ret, opIDs(read, w), "%s had read %d and overwrote %d with %d at %s",
			w.owner, w.args.Base, w.res.Value, w.args.Value, at(w.ret))
	}
	return violation(w.ret, opIDs(read, between, w), "%s had read %d and at %s overwrote the %d that %s had written at %s",
		w.owner, w.args.Base, at(w.ret), w.res.Value, between.owner, at(between.ret))
}
