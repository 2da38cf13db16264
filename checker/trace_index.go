package checker

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The judges repeat a few questions about a trace: the operations of an owner, the
// changes on the servers meanwhile, the holder at a time. An index answers each by
// binary search, so a judge that asks once for every operation stays near-linear.

// opIndex finds operations by id. In most histories the ids count up from 1.
type opIndex struct {
	dense  []*op // by id, as far as it reaches
	sparse map[int64]*op
}

func newOpIndex(n int) opIndex {
	return opIndex{dense: make([]*op, 2*n+1), sparse: map[int64]*op{}}
}

func (x *opIndex) put(o *op) {
	if o.id < int64(len(x.dense)) {
		x.dense[o.id] = o
		return
	}
	x.sparse[o.id] = o
}

// get finds an operation, or returns nil.
func (x *opIndex) get(id int64) *op {
	if id >= 0 && id < int64(len(x.dense)) {
		return x.dense[id]
	}
	return x.sparse[id]
}

// op finds an operation by id, or returns nil.
func (t *trace) op(id int64) *op { return t.byID.get(id) }

// account is the index of an owner on a lock, or of a lock.
type account struct {
	ops opList // none of a lock: see byLock; without extensions
	// extensions are those of an owner, by invocation.
	extensions []*op
	changes    changeList // of holds of the owner, or of all
	spans      spanIndex  // the same

	// As they were asked for.
	steps []step
	asked []askedAgain // by operation
	had   []bool       // by operation: whether it may have had a hold
}

// account is the index of an owner, or of anyone for "", and a lock.
func (t *trace) account(k ownerLock) *account {
	a := t.of[k]
	if a == nil {
		a = &account{}
		t.of[k] = a
	}
	return a
}

// search is sort.Search that first tries a nearby place. Judges go through a
// history in order of time, so the next result is near the last one and in the
// processor's cache.
func search(n int, place *int, found func(int) bool) int {
	if n == 0 {
		return 0
	}
	at := min(*place, n-1)
	from, to := 0, n
	if found(at) {
		to = at
		for step := 1; step <= at; step *= 2 {
			if !found(at - step) {
				from = at - step + 1
				break
			}
			to = at - step
		}
	} else {
		from = at + 1
		for step := 1; step < n-at; step *= 2 {
			if found(at + step) {
				to = at + step
				break
			}
			from = at + step + 1
		}
	}
	*place = from + sort.Search(to-from, func(i int) bool { return found(from + i) })
	return *place
}

// changeList are changes in order of time.
type changeList struct {
	all  []*change
	near int // where the last search ended
}

// from lists the changes at a time and later.
func (l *changeList) from(when int64) []*change {
	return l.all[search(len(l.all), &l.near, func(i int) bool { return l.all[i].t >= when }):]
}

// between lists the changes in [from, to].
func (l *changeList) between(from, to int64) []*change {
	later := l.from(from)
	for n := range min(len(later), 8) { // most are few
		if later[n].t > to {
			return later[:n]
		}
	}
	return later[:sort.Search(len(later), func(i int) bool { return later[i].t > to })]
}

// indexChanges lists the changes of every lock, and those that gave it to an owner,
// kept it for the owner, or removed it.
func (t *trace) indexChanges() {
	note := func(owner string, c *change) {
		l := &t.account(ownerLock{owner, c.lock}).changes
		l.all = append(l.all, c)
	}
	for i := range t.changes {
		c := &t.changes[i]
		note("", c)
		if c.holder != "" {
			note(c.holder, c)
		}
		if c.was != "" && c.was != c.holder {
			note(c.was, c)
		}
	}
}

// spanIndex lists spans by their start.
type spanIndex struct {
	all  []*span
	ends ends
	near int // where the last search ended
}

func (t *trace) indexHolding() {
	add := func(owner string, s *span) {
		x := &t.account(ownerLock{owner, s.lock}).spans
		x.all = append(x.all, s)
		x.ends.add(s.to)
	}
	for i := range t.spans {
		add("", &t.spans[i])
		add(t.spans[i].holder, &t.spans[i])
	}
}

// heldAt yields the spans of an owner, or of anyone, that touch [from, to], the latest
// first.
func (a *account) heldAt(from, to int64) iter.Seq[*span] {
	return func(yield func(*span) bool) {
		x := &a.spans
		n := search(len(x.all), &x.near, func(i int) bool { return x.all[i].from > to })
		for i := x.ends.before(n, from); i >= 0 && yield(x.all[i]); {
			i = x.ends.before(i, from)
		}
	}
}

// anyHeld reports whether a function picks any of these spans.
func (a *account) anyHeld(from, to int64, picks func(*span) bool) bool {
	for s := range a.heldAt(from, to) {
		if picks(s) {
			return true
		}
	}
	return false
}

// opList are operations by invocation.
type opList struct {
	all  []*op
	near int // where the last search ended
}

// latest is the last operation invoked by a time, or -1.
func (l *opList) latest(when int64) int {
	return search(len(l.all), &l.near, func(i int) bool { return l.all[i].inv > when }) - 1
}

// from is the first operation that was invoked at a time or later.
func (l *opList) from(when int64) int {
	return search(len(l.all), &l.near, func(i int) bool { return l.all[i].inv >= when })
}

// last is the last operation invoked by a time that a function picks, or nil.
func (l *opList) last(by int64, picks func(*op) bool) *op {
	for i := l.latest(by); i >= 0; i-- {
		if picks(l.all[i]) {
			return l.all[i]
		}
	}
	return nil
}

func isAcquire(o *op) bool { return o.f == history.Acquire }

// next is the next operation of the owner on the lock, or nil.
func (o *op) next() *op {
	if i := o.own.ops.latest(o.inv) + 1; i < len(o.own.ops.all) {
		return o.own.ops.all[i]
	}
	return nil
}

// nextInv is when the owner goes on with another operation on the lock, or never.
func (o *op) nextInv() int64 {
	if next := o.next(); next != nil {
		return next.inv
	}
	return never
}

// calls are a client's operations on a lock, by invocation.
type calls struct{ acquires, releases, inspects callsOf }

// callsOf are those of one kind.
type callsOf struct {
	ops  opList
	ends ends
}

func (c *callsOf) add(o *op) {
	c.ops.all = append(c.ops.all, o)
	c.ends.add(o.ret)
}

// during yields the operations that were open at any time of [from, to], the latest
// first.
func (c *callsOf) during(from, to int64) iter.Seq[*op] {
	return func(yield func(*op) bool) {
		for i := c.ends.before(c.ops.latest(to)+1, from); i >= 0 && yield(c.ops.all[i]); {
			i = c.ends.before(i, from)
		}
	}
}

func (c *calls) of(f history.Func) *callsOf {
	switch f {
	case history.Acquire:
		return &c.acquires
	case history.Release:
		return &c.releases
	}
	return &c.inspects
}

type clientLock struct{ client, lock string }

func (t *trace) indexCalls() {
	t.calls, t.asked = map[clientLock]*calls{}, map[string]*callsOf{}
	byAccount := map[*account]*calls{}
	for _, o := range t.ops {
		if o.own == nil {
			continue
		}
		all := byAccount[o.own]
		if all == nil {
			k := clientLock{o.client, o.lock}
			if all = t.calls[k]; all == nil {
				all = &calls{}
				t.calls[k] = all
			}
			byAccount[o.own] = all
		}
		all.of(o.f).add(o)
		if o.f == history.Acquire {
			asked := t.asked[o.lock]
			if asked == nil {
				asked = &callsOf{}
				t.asked[o.lock] = asked
			}
			asked.add(o)
		}
	}
}

// openOp finds an operation of a client that was open at a time: the one
// invoked first.
func (t *trace) openOp(client, lock string, f history.Func, when int64) *op {
	all := t.calls[clientLock{client, lock}]
	if all == nil {
		return nil
	}
	var first *op
	for o := range all.of(f).during(when, when) {
		first = o
	}
	return first
}

// grantOf finds the acquire behind an owner's hold on a server at a time: the
// latest successful or open one invoked before.
func (t *trace) grantOf(owner, lock string, when int64) *op {
	return t.account(ownerLock{owner, lock}).ops.last(when, func(o *op) bool {
		return o.f == history.Acquire && (o.kind == history.OK || o.ret >= when)
	})
}

// indexBeliefs lists the beliefs on every lock by their end.
func (t *trace) indexBeliefs() {
	t.ended = map[string][]int32{}
	for i := range t.beliefs {
		l := t.beliefs[i].Lock
		t.ended[l] = append(t.ended[l], int32(i))
	}
	for _, list := range t.ended {
		slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(t.beliefs[a].To, t.beliefs[b].To) })
	}
}

// lastHolder is the acquire of the latest hold that had ended by a time.
func (t *trace) lastHolder(lock string, by int64) *op {
	if c := t.lastBelief(lock, by); c != nil {
		return t.op(c.AcquireOp)
	}
	return nil
}

// lastHeld describes the last holder of a lock by a time, and the end of its hold.
func (t *trace) lastHeld(lock string, by int64) string {
	c := t.lastBelief(lock, by)
	if c == nil {
		return "nobody had held it before"
	}
	how := "let go"
	switch c.EndedBy {
	case "lost":
		how = "learned that it had lost it"
	case "crash":
		how = "was gone"
	}
	return fmt.Sprintf("%s, the last to hold it, %s at %s", c.Owner, how, at(c.To))
}

func (t *trace) lastBelief(lock string, by int64) *Belief {
	list := t.ended[lock]
	i := sort.Search(len(list), func(i int) bool { return t.beliefs[list[i]].To > by }) - 1
	if i < 0 {
		return nil
	}
	for i > 0 && t.beliefs[list[i-1]].To == t.beliefs[list[i]].To {
		i-- // of several, the one that began first
	}
	return &t.beliefs[list[i]]
}

// othersAsk reports whether another acquire of the lock was open during one.
func (t *trace) othersAsk(acquire *op) bool {
	for o := range t.asked[acquire.lock].during(acquire.inv, acquire.ret) {
		if o != acquire {
			return true
		}
	}
	return false
}

// ends are the ends of intervals sorted by start. They find the intervals that
// reach a time without visiting the others.
type ends struct {
	levels [][]int64 // the first has every end, each other the latest of endsFan in the one below
}

const endsFan = 16

func (x *ends) add(to int64) {
	i := 0
	if len(x.levels) > 0 {
		i = len(x.levels[0])
	}
	for k := 0; ; k++ {
		if k == len(x.levels) {
			x.levels = append(x.levels, nil)
			if k > 0 {
				for block := range slices.Chunk(x.levels[k-1], endsFan) {
					x.levels[k] = append(x.levels[k], slices.Max(block))
				}
			}
		}
		level := &x.levels[k]
		switch {
		case i == len(*level):
			*level = append(*level, to)
		case (*level)[i] < to:
			(*level)[i] = to
		}
		if len(*level) <= endsFan {
			return
		}
		i /= endsFan
	}
}

// before is the last interval before the i-th that ends at a time or later, or -1.
func (x *ends) before(i int, from int64) int {
	for k := range x.levels {
		level := x.levels[k]
		for i%endsFan != 0 {
			if i--; level[i] >= from {
				return x.within(k, i, from)
			}
		}
		if i == 0 {
			return -1
		}
		// The blocks before this one are in the level above.
		if k+1 == len(x.levels) {
			for i > 0 {
				if i--; level[i] >= from {
					return x.within(k, i, from)
				}
			}
			return -1
		}
		i /= endsFan
	}
	return -1
}

// within is the last interval of a block that ends at a time or later; the caller
// knows that there is one.
func (x *ends) within(k, i int, from int64) int {
	for ; k > 0; k-- {
		below := x.levels[k-1]
		i = min((i+1)*endsFan, len(below)) - 1
		for below[i] < from {
			i--
		}
	}
	return i
}
