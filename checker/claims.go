package checker

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// claims derives the beliefs of every owner from its operations and notes alone.
func claims(t *trace) []Claim {
	grants := 0
	for _, o := range t.ops {
		if o.granted() {
			grants++
		}
	}
	all := make([]Claim, 0, grants)
	for _, k := range t.owners {
		all = claimsOf(t, k, all)
	}
	order := make([]int32, len(all)) // claims are large, so sort their places
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(all[a].From, all[b].From) })
	out := slices.Grow([]Claim(nil), len(all))
	for _, i := range order {
		out = append(out, all[i])
	}
	return out
}

// step is an event that may change an owner's belief.
type step struct {
	t    int64
	o    *op
	ret  bool // the return of o, else its invocation
	lost bool // when o is nil: told that the hold is lost, else crashed
}

// steps lists an owner's operations and notices about one lock, in order. At one
// time, its operations come first.
func (t *trace) steps(k ownerLock) []step {
	a := t.account(k)
	if a.steps != nil {
		return a.steps
	}
	var told []step
	for _, n := range t.notesOf[t.client[k.owner]] {
		if n.F == history.Lost && ((n.Owner != "" && n.Owner != k.owner) || (n.Lock != "" && n.Lock != k.lock)) {
			continue
		}
		told = append(told, step{t: n.Time, lost: n.F == history.Lost})
	}
	out := make([]step, 0, 2*len(a.ops.all)+len(told))
	add := func(s step) {
		for len(told) > 0 && told[0].t < s.t {
			out, told = append(out, told[0]), told[1:]
		}
		out = append(out, s)
	}
	for _, o := range a.ops.all { // one after the other: an owner has one open at a time
		add(step{t: o.inv, o: o})
		if !o.open() {
			add(step{t: o.ret, o: o, ret: true})
		}
	}
	out = append(out, told...)
	a.steps = out
	return out
}

// claimsOf adds an owner's beliefs about one lock.
func claimsOf(t *trace, k ownerLock, all []Claim) []Claim {
	var cur *Claim
	count := 0
	begin := func(o *op) {
		cur = &Claim{
			Owner: o.owner, Client: o.client, Lock: o.lock, From: o.ret, AcquireOp: o.id,
			Token: o.res.Token, Lease: o.args.Lease, Renewed: o.args.Renewed,
		}
		count = max(o.res.Count, 1)
	}
	finish := func(to int64, by string, endOp int64) {
		if cur != nil {
			cur.To, cur.EndedBy, cur.EndOp = to, by, endOp
			all = append(all, *cur)
		}
		cur, count = nil, 0
	}
	stops := t.stops[t.client[k.owner]]
	stopped := func(by int64) {
		for ; len(stops) > 0 && stops[0].Time <= by; stops = stops[1:] {
			if stops[0].Owner == k.owner && stops[0].Lock == k.lock {
				finish(stops[0].Time, "stopped", 0)
			}
		}
	}
	for _, s := range t.steps(k) {
		stopped(s.t)
		switch {
		case s.o == nil && s.lost:
			finish(s.t, "lost", 0)
		case s.o == nil:
			finish(s.t, "crash", 0)
		case s.ret && s.o.granted():
			switch {
			case cur == nil:
				begin(s.o)
			case s.o.res.Count == 1 && t.claim.Reentrant:
				// It counts from 1 again: the hold before had been lost.
				finish(s.t, "lost", s.o.id)
				begin(s.o)
			default:
				count++
			}
		case s.o.f == history.Release && !s.ret && cur != nil && count <= 1 && t.left(s.o) == 0:
			finish(s.t, "release", s.o.id)
		case s.o.f == history.Release && s.ret && cur != nil && s.o.inv >= cur.From:
			left := t.left(s.o)
			switch {
			case s.o.kind == history.Fail && (s.o.res.Error == history.ErrNotHeld || s.o.res.Error == history.ErrLost):
				finish(s.t, "lost", s.o.id)
			case left > 0:
				count = left
			default:
				count--
			}
		}
	}
	stopped(t.endTime)
	finish(t.endTime, "end", 0)
	return all
}

// left is the number of holds that remain by the answer to a release, and that it
// therefore has not ended. For a release of unknown outcome the answer to its
// repetition counts. It is 0 if no answer reports any.
func (t *trace) left(o *op) int {
	if !t.claim.Reentrant || o.f != history.Release {
		return 0
	}
	for o != nil && o.f == history.Release && o.kind == history.Info {
		o = o.next()
	}
	if o != nil && o.f == history.Release && o.kind == history.OK {
		return o.res.Count
	}
	return 0
}
