package checker

import (
	"iter"

	"github.com/holdfast-go/holdfast/checker/history"
)

// opIndex finds operations by id. In most histories the ids count up from 1.
type opIndex struct {
	dense  []*op // by id, as far as it reaches
	sparse map[int64]*op
}

func (x *opIndex) putOp(o *op) {
	if o.id < int64(len(x.dense)) {
		x.dense[o.id] = o
		return
	}
	x.sparse[o.id] = o
}

func (x *opIndex) findOp(id int64) *op {
	if id >= 0 && id < int64(len(x.dense)) {
		return x.dense[id]
	}
	return x.sparse[id]
}

// op finds an operation by id, or returns nil.
func (x *index) op(id int64) *op { return x.byID.findOp(id) }

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

func (x *index) accountOf(k ownerLock) *account {
	a := x.of[k]
	if a == nil {
		a = &account{}
		x.of[k] = a
	}
	return a
}

func (l *changeList) from(when int64) []*change {
	return l.all[search(len(l.all), &l.near, func(i int) bool { return l.all[i].t >= when }):]
}

// opList are operations by invocation.
type opList struct {
	all  []*op
	near int // where the last search ended
}

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

// calls are a client's operations on a lock, by invocation.
type calls struct{ acquires, releases, inspects callsOf }

type callsOf struct {
	ops  opList
	ends ends
}

func (c *callsOf) addCall(o *op) {
	c.ops.all = append(c.ops.all, o)
	c.ends.addEnd(o.ret)
}

// openDuring yields the operations that were open at any time of [from, to], the latest
// first.
func (c *callsOf) openDuring(from, to int64) iter.Seq[*op] {
	return func(yield func(*op) bool) {
		for i := c.ends.lastBefore(c.ops.latest(to)+1, from); i >= 0 && yield(c.ops.all[i]); {
			i = c.ends.lastBefore(i, from)
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
