package checker

import (
	"cmp"
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// The judges repeat a few questions about a trace: the operations of an owner, the
// changes on the servers meanwhile, the holder at a time. An index answers each by
// binary search, so a judge that asks once for every operation stays near-linear.

// index is a history by operation, owner, lock and client.
type index struct {
	h       *history.History
	who     linear.Roster // of owners, as the judges of lock operations number them
	claims  history.Terms // with Quorum and Nodes at least 1
	allow   allowances
	ops     []*op // by invocation
	byID    opIndex
	of      map[ownerLock]*account // owner, or "" for anyone, and lock
	byLock  map[string][]*op       // lock operations only, by invocation
	owners  []ownerLock            // in order of first appearance
	client  map[string]string      // owner -> client
	other   map[string]string      // owner -> its name in the other mode, if it has the lock in both
	locks   []string               // in order of first appearance
	crashed instants               // of clients
	closing instants               // when clients began to close their lock handles, as far as they noted it
	closed  instants               // when clients had closed their lock handles

	notes   []*history.Event
	notesOf map[string][]*history.Event // client -> what it learned of lost holds and its crash
	stops   map[string][]*history.Event // client -> when it stopped its work
	logged  []*history.Event            // of servers
	joined  map[string]string           // the group that a group of servers has become a part of

	calls   map[clientLock]*calls // lock operations only
	asked   map[string]*callsOf   // lock -> its acquires
	end     *history.EndEvent
	endTime int64
}

func newIndex(h *history.History) *index {
	t := &index{
		h: h, claims: filled(h.Header.Claims), allow: allowancesOf(&h.Header),
		of: map[ownerLock]*account{}, byLock: map[string][]*op{}, client: map[string]string{}, other: map[string]string{}, crashed: instants{}, closing: instants{}, closed: instants{},
		notesOf: map[string][]*history.Event{}, stops: map[string][]*history.Event{},
	}
	n, servers := 0, 0
	for i := range h.Events {
		switch h.Events[i].Kind {
		case history.Invoke:
			n++
		case history.Server:
			servers++
		}
	}
	t.logged = make([]*history.Event, 0, servers)
	t.byID = opIndex{dense: make([]*op, 2*n+1), sparse: map[int64]*op{}}
	t.ops = make([]*op, 0, n)
	all := make([]op, n)
	var order sequence
	for i := range h.Events {
		e := &h.Events[i]
		t.endTime = e.Time
		when := e.Time
		if h.Header.Order == history.TotalOrder {
			when = order.place(e)
		}
		switch e.Kind {
		case history.Invoke:
			o := &all[len(t.ops)]
			o.beginWith(e)
			o.call, o.back = when, never
			t.addOp(o)
		case history.OK, history.Fail, history.Info:
			o := t.op(e.Op)
			o.returnWith(e)
			o.back = when
		case history.Note:
			t.addNote(e)
		case history.Server:
			t.logged = append(t.logged, e)
		case history.End:
			t.end = e.End
		}
	}
	t.indexCalls()
	t.joinGroups()
	return t
}

// sequence gives the events of a total order times that tell it: an invocation after a
// return of the same instant is a nanosecond later.
type sequence struct {
	now      int64
	returned bool // since the last invocation
}

func (s *sequence) place(e *history.Event) int64 {
	if e.Time > s.now {
		s.now, s.returned = e.Time, false
	}
	switch {
	case e.Kind != history.Invoke:
		s.returned = s.returned || e.Op > 0
	case s.returned:
		s.now, s.returned = s.now+1, false
	}
	return s.now
}

func (x *index) indexCalls() {
	x.calls, x.asked = map[clientLock]*calls{}, map[string]*callsOf{}
	byAccount := map[*account]*calls{}
	for _, o := range x.ops {
		if o.own == nil {
			continue
		}
		all := byAccount[o.own]
		if all == nil {
			k := clientLock{o.client, o.lock}
			if all = x.calls[k]; all == nil {
				all = &calls{}
				x.calls[k] = all
			}
			byAccount[o.own] = all
		}
		all.of(o.f).addCall(o)
		if o.f == history.Acquire {
			asked := x.asked[o.lock]
			if asked == nil {
				asked = &callsOf{}
				x.asked[o.lock] = asked
			}
			asked.addCall(o)
		}
	}
}

// openOp finds an operation of a client that was open at a time: the one invoked first.
func (x *index) openOp(client, lock string, f history.Func, when int64) *op {
	all := x.calls[clientLock{client, lock}]
	if all == nil {
		return nil
	}
	var first *op
	for o := range all.of(f).openDuring(when, when) {
		first = o
	}
	return first
}

// grantOf finds the acquire behind an owner's hold on a server at a time: the
// latest successful or open one invoked before.
func (x *index) grantOf(owner, lock string, when int64) *op {
	return x.accountOf(ownerLock{owner, lock}).ops.last(when, func(o *op) bool {
		return o.f == history.Acquire && (o.kind == history.OK || o.ret >= when)
	})
}

// othersAsk reports whether another acquire of the lock was open during one.
func (x *index) othersAsk(acquire *op) bool {
	for o := range x.asked[acquire.lock].openDuring(acquire.inv, acquire.ret) {
		if o != acquire {
			return true
		}
	}
	return false
}

// filled returns the claims with Quorum and Nodes at least 1.
func filled(c history.Terms) history.Terms {
	c.Quorum, c.Nodes = max(c.Quorum, 1), max(c.Nodes, 1)
	return c
}

type ownerLock struct{ owner, lock string }

func (x *index) addOp(o *op) {
	o.n = int32(len(x.ops))
	x.ops = append(x.ops, o)
	x.byID.putOp(o)
	k := ownerLock{o.owner, o.lock}
	if o.f == history.Extend {
		o.own = x.accountOf(k)
		o.own.extensions = append(o.own.extensions, o)
	}
	if !o.onLock() {
		x.client[o.owner] = o.client
		return
	}
	if o.args.Self != "" {
		x.other[o.owner], x.other[o.args.Self] = o.args.Self, o.owner
	}
	if o.own = x.accountOf(k); len(o.own.ops.all) == 0 {
		x.client[o.owner] = o.client
		x.owners = append(x.owners, k)
	}
	if x.byLock[o.lock] == nil {
		x.locks = append(x.locks, o.lock)
	}
	o.own.ops.all = append(o.own.ops.all, o)
	x.byLock[o.lock] = append(x.byLock[o.lock], o)
}

func (x *index) addNote(e *history.Event) {
	x.notes = append(x.notes, e)
	switch e.F {
	case history.Lost:
		x.notesOf[e.Client] = append(x.notesOf[e.Client], e)
	case history.Stopped:
		x.stops[e.Client] = append(x.stops[e.Client], e)
	case history.Crashed:
		x.notesOf[e.Client] = append(x.notesOf[e.Client], e)
		x.crashed[e.Client] = e.Time
		if e.Result != nil && e.Result.Since > 0 { // it was closing, maybe from this very instant on
			x.closing[e.Client] = e.Began()
		}
	case history.Closed:
		if _, already := x.closed[e.Client]; !already {
			x.closing[e.Client], x.closed[e.Client] = e.Began(), e.Time
		}
	}
}

// leaseOf is the duration of an acquire's hold without a renewal; never if the
// lock has no lease or none was requested.
func (x *index) leaseOf(o *op) int64 { return leaseUnder(x.claims, o) }

func leaseUnder(c history.Terms, o *op) int64 {
	if !c.Lease || o.args.Lease == 0 {
		return never
	}
	return o.args.Lease
}

// closingSlack is the time for which the requests of a lock may still arrive after its
// close.
const closingSlack = 100 * millisecond

// mayBeClosing reports whether a client may have been closing its lock handle at a time.
// A client that did not note the beginning of its close may have begun after its last
// grant.
func (x *index) mayBeClosing(client string, when int64) bool {
	closed := x.closed.at(client)
	if began := x.closing.at(client); began < closed {
		return began <= when
	}
	return closed != never && !slices.ContainsFunc(x.ops, func(o *op) bool {
		return o.client == client && o.granted() && o.ret > when && o.ret <= closed
	})
}

// lockOfEvent names the lock of a Server event: its own field, else the key if a lock
// has that name, else the only lock.
func (x *index) lockOfEvent(e *history.Event) string {
	name := cmp.Or(e.Lock, e.Server.Key)
	if x.byLock[name] != nil {
		return name
	}
	if len(x.locks) == 1 {
		return x.locks[0]
	}
	return e.Server.Key
}

// untilNext is the time until which an operation may be carried out. That is its return,
// or, with an unknown outcome, the next request of its owner.
func (x *index) untilNext(o *op) int64 {
	if !o.unclear() {
		return o.ret
	}
	return o.nextInv()
}

// commandOf reports whether a command of an operation's client made a change on its lock.
func (x *index) commandOf(c *change, o *op) bool {
	return c.command() && c.By == o.client && c.lock == o.lock
}

// commandsOf yields the changes that an operation may have made, see commandOf.
func (x *index) commandsOf(o *op) iter.Seq[*change] {
	return func(yield func(*change) bool) {
		to := x.untilNext(o)
		for _, c := range o.own.changes.from(o.inv) {
			if c.t > to || x.commandOf(c, o) && !yield(c) {
				return
			}
		}
	}
}

// step is an event that may change an owner's belief.
type step struct {
	t    int64
	o    *op
	ret  bool // the return of o, else its invocation
	lost bool // when o is nil: the client learned of the loss, else it crashed
}

// steps lists an owner's operations and notices about one lock, in order. At one
// time, its operations come first.
func (x *index) steps(k ownerLock) []step {
	a := x.accountOf(k)
	if a.steps != nil {
		return a.steps
	}
	var told []step
	for _, n := range x.notesOf[x.client[k.owner]] {
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

// holdsLeft is the number of holds that remain by the answer to a release, and that it
// therefore has not ended. For a release of unknown outcome the answer to its
// repetition counts. It is 0 if no answer reports any.
func (x *index) holdsLeft(o *op) int {
	if !x.claims.Reentrant || o.f != history.Release {
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
