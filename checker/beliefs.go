package checker

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Belief is an interval in which an owner believed that it held a lock. It starts
// at the return of the acquire that raised its hold count from 0 to 1.
type Belief struct {
	Owner, Client, Lock string
	history.Share
	Weight   int    `json:"-"` // the part of the lock's capacity that it takes
	Other    string `json:"-"` // the owner's name in the other mode, if it has the lock in both
	From, To int64
	// AcquireOp took the hold. EndOp is the operation that ended it, or 0.
	AcquireOp, EndOp int64
	// EndedBy is "release", "lost", "stopped", "crash" or "end". With "release", To is
	// the invocation of the release that takes the count to 0. With "lost", the client
	// got a notice, a refusal or a new count of 1. With "stopped", the user stopped its
	// work at the end of the validity.
	EndedBy string
	Token   uint64
	Lease   int64 // asked for by AcquireOp, 0 for none
	Renewed bool  // a watchdog renews it

	// The servers' lease runs from LeaseFrom to LeaseTo: from the grant to the end by the
	// last renewal, as if no owner released it. Without a server log it runs from the
	// answer to the latest possible end. Both are 0 where no lease is known to end.
	LeaseFrom, LeaseTo int64 `json:"-"`
}

// Beliefs returns the beliefs of all owners, in the order in which their holds
// started. It returns nil for an invalid history.
func Beliefs(h *history.History) []Belief {
	if h.Validate() != nil {
		return nil
	}
	t := newTrace(h)
	for i := range t.beliefs {
		b := &t.beliefs[i]
		b.LeaseFrom, b.LeaseTo = t.leaseOnServers(b)
	}
	return t.beliefs
}

// Overlap is a time in which two owners both believed that they held one lock. Together
// with other owners who did, they were more than it has room for. A was granted first.
type Overlap struct {
	A, B     *Belief
	From, To int64
	Taken    int // the weight of all who hold the lock together at From
}

// Overlaps yields every overlap of beliefs, which are in the order of their starts. The
// overlaps come in the order in which they began, and those of one B together.
func Overlaps(beliefs []Belief, claims history.Claims) iter.Seq[Overlap] {
	return func(yield func(Overlap) bool) {
		live := map[string][]*Belief{} // by lock, not over before the belief at hand
		for i := range beliefs {
			b := &beliefs[i]
			live[b.Lock] = append(slices.DeleteFunc(live[b.Lock], func(a *Belief) bool { return a.To <= b.From }), b)
			until := crowdedUntil(b, live[b.Lock], claims)
			taken := 0
			for _, a := range live[b.Lock] {
				taken += a.Weight
			}
			for _, a := range live[b.Lock] {
				o := Overlap{A: a, B: b, From: b.From, To: min(a.To, until), Taken: taken}
				if !a.isSame(b) && o.From < o.To && !yield(o) {
					return
				}
			}
		}
	}
}

// crowdedUntil is when the lock has room again for the last of the beliefs that live at
// its start. It is the start itself if the lock has room then.
func crowdedUntil(b *Belief, live []*Belief, claims history.Claims) int64 {
	weight := b.Weight
	if weight == claims.Capacity() {
		return b.To // it has no room for anybody else
	}
	others := slices.DeleteFunc(slices.Clone(live), b.isSame)
	slices.SortStableFunc(others, func(x, y *Belief) int { return cmp.Compare(y.To, x.To) }) // who stays longest first
	for _, a := range others {
		if weight += a.Weight; weight > claims.Capacity() {
			return min(a.To, b.To)
		}
	}
	return b.From
}

// isSame reports whether two beliefs are of one owner, who may have the lock in both modes.
func (c *Belief) isSame(other *Belief) bool {
	return c.Owner == other.Owner || c.Other == other.Owner
}

// believers are the owners and their beliefs, which follow from their operations and
// notes alone.
type believers struct {
	*index
	beliefs []Belief
	ended   map[string][]int32 // lock -> its beliefs by their end
}

func newBelievers(x *index) *believers {
	t := &believers{index: x, beliefs: beliefsIn(x)}
	t.indexBeliefs()
	return t
}

func beliefsIn(t *index) []Belief {
	var all []Belief
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

// beliefsOf adds an owner's beliefs about one lock.
func beliefsOf(t *index, k ownerLock, all []Belief) []Belief {
	var cur *Belief
	count := 0
	begin := func(o *op) {
		cur = &Belief{
			Owner: o.owner, Client: o.client, Lock: o.lock, From: o.ret, AcquireOp: o.id,
			Share: o.args.Share, Weight: t.weightOf(o), Other: t.other[o.owner], Token: o.res.Token, Lease: o.args.Lease, Renewed: o.args.Renewed,
		}
		if count = 1; t.claims.Reentrant { // that of a semaphore has its permits
			count = max(o.res.Count, 1)
		}
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
		case s.o.f == history.Release && !s.ret && cur != nil && count <= 1 && t.holdsLeft(s.o) == 0:
			finish(s.t, "release", s.o.id)
		case s.o.f == history.Release && s.ret && cur != nil && s.o.inv >= cur.From:
			left := t.holdsLeft(s.o)
			switch {
			case s.o.kind == history.Fail && (s.o.res.Error == history.ErrNotHeld || s.o.res.Error == history.ErrLost):
				finish(s.t, "lost", s.o.id)
			case s.o.failed(history.ErrCanceled) && s.o.ret >= t.closing.at(s.o.client):
				finish(s.t, "release", s.o.id) // no call can release what the closed lock leaves to its lease
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

func (v *believers) indexBeliefs() {
	v.ended = map[string][]int32{}
	for i := range v.beliefs {
		l := v.beliefs[i].Lock
		v.ended[l] = append(v.ended[l], int32(i))
	}
	for _, list := range v.ended {
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(v.beliefs[a].To, v.beliefs[b].To) })
	}
}

// lastHolder is the acquire of the latest hold that had ended by a time.
func (v *believers) lastHolder(lock string, by int64) *op {
	if c := v.lastBelief(lock, by); c != nil {
		return v.op(c.AcquireOp)
	}
	return nil
}

func (v *believers) lastHeld(lock string, by int64) string {
	c := v.lastBelief(lock, by)
	if c == nil {
		return "nobody had held it before"
	}
	how := "let go"
	switch end := v.op(c.EndOp); {
	case c.EndedBy == "lost":
		how = "learned that it had lost it"
	case c.EndedBy == "crash":
		how = "was gone"
	case end != nil && end.unclear():
		how = "began a release that got no answer"
	}
	return fmt.Sprintf("%s, the last to hold it, %s at %s", c.Owner, how, at(c.To))
}

func (v *believers) lastBelief(lock string, by int64) *Belief {
	list := v.ended[lock]
	i := sort.Search(len(list), func(i int) bool { return v.beliefs[list[i]].To > by }) - 1
	if i < 0 {
		return nil
	}
	for i > 0 && v.beliefs[list[i-1]].To == v.beliefs[list[i]].To {
		i-- // of several, the one that began first
	}
	return &v.beliefs[list[i]]
}

// beliefAt is the belief under which an owner acted at a time, or nil.
func (v *believers) beliefAt(k ownerLock, when int64) *Belief {
	list := v.ended[k.lock]
	for i := sort.Search(len(list), func(i int) bool { return v.beliefs[list[i]].To >= when }); i < len(list); i++ {
		if c := &v.beliefs[list[i]]; c.Owner == k.owner && c.From <= when {
			return c
		}
	}
	return nil
}

// nextBelief is the first belief of another owner on the lock of the ith one, after that
// and before a time; or nil. The lock has no room for both.
func (v *believers) nextBelief(i int, before int64) *Belief {
	c := &v.beliefs[i]
	for j := i + 1; j < len(v.beliefs) && v.beliefs[j].From < before; j++ {
		if o := &v.beliefs[j]; o.Lock == c.Lock && !o.isSame(c) && o.Weight+c.Weight > v.claims.Capacity() {
			return o
		}
	}
	return nil
}
