package checker

import (
	"cmp"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Belief is an interval in which an owner believed that it held a lock. It starts
// at the return of the acquire that raised its hold count from 0 to 1.
type Belief struct {
	Owner, Client, Lock string
	From, To            int64
	// AcquireOp took the hold. EndOp is the operation that ended it, or 0.
	AcquireOp, EndOp int64
	// EndedBy is "release" (To is the invocation of the release that takes the
	// count to 0), "lost" (the client got a notice, a refusal or a new count of
	// 1), "stopped" (the user stopped its work at the end of the validity),
	// "crash" or "end".
	EndedBy string
	Token   uint64
	Lease   int64 // asked for by AcquireOp, 0 for none
	Renewed bool  // a watchdog renews it

	// The servers' lease runs from LeaseFrom to LeaseTo: from the grant to the end by
	// the last renewal, as if nobody released it. Without a server log it runs from
	// the answer to the latest possible end. Both are 0 where no lease is known to end.
	LeaseFrom, LeaseTo int64 `json:"-"`
}

// Beliefs returns the beliefs of all owners, in the order in which their holds
// started. It returns nil for an invalid history.
func Beliefs(h *history.History) []Belief {
	if history.Validate(h) != nil {
		return nil
	}
	t := newTrace(h)
	for i := range t.beliefs {
		b := &t.beliefs[i]
		b.LeaseFrom, b.LeaseTo = t.leaseOnServers(b)
	}
	return t.beliefs
}

// Overlap is a time in which two owners both believed that they held one lock. A was
// granted first.
type Overlap struct {
	A, B     *Belief
	From, To int64
}

// Overlaps yields every overlap of beliefs, which are in the order of their starts. The
// overlaps come in the order in which they began.
func Overlaps(beliefs []Belief) iter.Seq[Overlap] {
	return func(yield func(Overlap) bool) {
		live := map[string][]*Belief{} // by lock, not over before the belief at hand
		for i := range beliefs {
			b := &beliefs[i]
			live[b.Lock] = append(slices.DeleteFunc(live[b.Lock], func(a *Belief) bool { return a.To <= b.From }), b)
			for _, a := range live[b.Lock] {
				o := Overlap{A: a, B: b, From: b.From, To: min(a.To, b.To)}
				if a.Owner != b.Owner && o.From < o.To && !yield(o) {
					return
				}
			}
		}
	}
}

// beliefs derives the beliefs of every owner from its operations and notes alone.
func beliefs(t *trace) []Belief {
	grants := 0
	for _, o := range t.ops {
		if o.granted() {
			grants++
		}
	}
	all := make([]Belief, 0, grants)
	for _, k := range t.owners {
		all = beliefsOf(t, k, all)
	}
	order := make([]int32, len(all)) // beliefs are large, so sort their places
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(all[a].From, all[b].From) })
	out := slices.Grow([]Belief(nil), len(all))
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

// beliefsOf adds an owner's beliefs about one lock.
func beliefsOf(t *trace, k ownerLock, all []Belief) []Belief {
	var cur *Belief
	count := 0
	begin := func(o *op) {
		cur = &Belief{
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
			case s.o.res.Count == 1 && t.claims.Reentrant:
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
	if !t.claims.Reentrant || o.f != history.Release {
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
