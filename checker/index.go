package checker

import (
	"iter"
	"slices"
	"sort"

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
	locks   []string               // in order of first appearance
	crashed instants               // of clients
	closing instants               // when clients began to close their lock handles, as far as they noted it
	closed  instants               // when clients had closed their lock handles

	notes   []*history.Event
	notesOf map[string][]*history.Event // client -> what it learned of lost holds and its crash
	stops   map[string][]*history.Event // client -> when it stopped its work
	logged  []*history.Event            // of servers

	calls   map[clientLock]*calls // lock operations only
	asked   map[string]*callsOf   // lock -> its acquires
	end     *history.EndEvent
	endTime int64
}

func newIndex(h *history.History) *index {
	t := &index{
		h: h, claims: filled(h.Header.Claims), allow: allowancesOf(&h.Header),
		of: map[ownerLock]*account{}, byLock: map[string][]*op{}, client: map[string]string{}, crashed: instants{}, closing: instants{}, closed: instants{},
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
	t.byID = newOpIndex(n)
	t.ops = make([]*op, 0, n)
	all := make([]op, n)
	for i := range h.Events {
		e := &h.Events[i]
		t.endTime = e.Time
		switch e.Kind {
		case history.Invoke:
			o := &all[len(t.ops)]
			o.begin(e)
			t.invoked(o)
		case history.OK, history.Fail, history.Info:
			t.op(e.Op).returned(e)
		case history.Note:
			t.note(e)
		case history.Server:
			t.logged = append(t.logged, e)
		case history.End:
			t.end = e.End
		}
	}
	t.indexCalls()
	return t
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

func (t *index) indexCalls() {
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
func (t *index) openOp(client, lock string, f history.Func, when int64) *op {
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
func (t *index) grantOf(owner, lock string, when int64) *op {
	return t.account(ownerLock{owner, lock}).ops.last(when, func(o *op) bool {
		return o.f == history.Acquire && (o.kind == history.OK || o.ret >= when)
	})
}

// othersAsk reports whether another acquire of the lock was open during one.
func (t *index) othersAsk(acquire *op) bool {
	for o := range t.asked[acquire.lock].during(acquire.inv, acquire.ret) {
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

// invoked indexes an operation at its invocation.
func (t *index) invoked(o *op) {
	o.n = int32(len(t.ops))
	t.ops = append(t.ops, o)
	t.byID.put(o)
	k := ownerLock{o.owner, o.lock}
	if o.f == history.Extend {
		o.own = t.account(k)
		o.own.extensions = append(o.own.extensions, o)
	}
	if !o.onLock() {
		t.client[o.owner] = o.client
		return
	}
	if o.own = t.account(k); len(o.own.ops.all) == 0 {
		t.client[o.owner] = o.client
		t.owners = append(t.owners, k)
	}
	if t.byLock[o.lock] == nil {
		t.locks = append(t.locks, o.lock)
	}
	o.own.ops.all = append(o.own.ops.all, o)
	t.byLock[o.lock] = append(t.byLock[o.lock], o)
}

// note indexes a note about a client.
func (t *index) note(e *history.Event) {
	t.notes = append(t.notes, e)
	switch e.F {
	case history.Lost:
		t.notesOf[e.Client] = append(t.notesOf[e.Client], e)
	case history.Stopped:
		t.stops[e.Client] = append(t.stops[e.Client], e)
	case history.Crashed:
		t.notesOf[e.Client] = append(t.notesOf[e.Client], e)
		t.crashed[e.Client] = e.Time
		if e.Began() < e.Time {
			t.closing[e.Client] = e.Began()
		}
	case history.Closed:
		if _, already := t.closed[e.Client]; !already {
			t.closing[e.Client], t.closed[e.Client] = e.Began(), e.Time
		}
	}
}

// leaseOf is the duration of an acquire's hold without a renewal; never if the
// lock has no lease or none was requested.
func (t *index) leaseOf(o *op) int64 { return leaseUnder(t.claims, o) }

func leaseUnder(c history.Terms, o *op) int64 {
	if !c.Lease || o.args.Lease == 0 {
		return never
	}
	return o.args.Lease
}

// closingSlack is how long the requests of a lock may still arrive after its
// close.
const closingSlack = 100 * millisecond

// mayBeClosing reports whether a client may have been closing its lock handle at a time.
// A client that did not note the beginning of its close may have begun after its last
// grant.
func (t *index) mayBeClosing(client string, when int64) bool {
	closed := t.closed.at(client)
	if began := t.closing.at(client); began < closed {
		return began <= when
	}
	return closed != never && !slices.ContainsFunc(t.ops, func(o *op) bool {
		return o.client == client && o.granted() && o.ret > when && o.ret <= closed
	})
}

// lockOf names the lock of a Server event: its own field, else the key if a lock
// has that name, else the only lock.
func (t *index) lockOf(e *history.Event) string {
	name := e.Lock
	if name == "" {
		name = e.Server.Key
	}
	if t.byLock[name] != nil {
		return name
	}
	if len(t.locks) == 1 {
		return t.locks[0]
	}
	return e.Server.Key
}

// untilNext is how long an operation may be carried out: until it returned, or,
// when its outcome is unknown, until its owner asked again.
func (t *index) untilNext(o *op) int64 {
	if !o.unclear() {
		return o.ret
	}
	return o.nextInv()
}

// commandOf reports whether a command of an operation's client made a change on
// its lock.
func (t *index) commandOf(c *change, o *op) bool {
	return c.command() && c.By == o.client && c.lock == o.lock
}

// commandsOf yields the changes that an operation may have made, see commandOf.
func (t *index) commandsOf(o *op) iter.Seq[*change] {
	return func(yield func(*change) bool) {
		to := t.untilNext(o)
		for _, c := range o.own.changes.from(o.inv) {
			if c.t > to || t.commandOf(c, o) && !yield(c) {
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
	lost bool // when o is nil: told that the hold is lost, else crashed
}

// steps lists an owner's operations and notices about one lock, in order. At one
// time, its operations come first.
func (t *index) steps(k ownerLock) []step {
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

// left is the number of holds that remain by the answer to a release, and that it
// therefore has not ended. For a release of unknown outcome the answer to its
// repetition counts. It is 0 if no answer reports any.
func (t *index) left(o *op) int {
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
