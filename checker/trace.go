package checker

import (
	"fmt"
	"math"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
)

// never is the time of what does not happen.
const never = math.MaxInt64

const (
	millisecond int64 = 1e6
	second      int64 = 1e9
)

// op is an operation: an invocation and, when it has one, its return.
type op struct {
	id                  int64
	f                   history.Func
	client, owner, lock string
	args                *history.Args // of the history, or nothing; never nil
	inv, ret            int64         // ret is never while the operation is open
	kind                history.Kind  // OK, Fail, Info, or Invoke while it is open
	n                   int32         // its place in the order of invocations
	own                 *account      // of its owner on its lock, nil for one on the resource
	res                 *history.Result
}

// What an operation without arguments or result has; only ever read.
var (
	noArgs   history.Args
	noResult history.Result
)

func (o *op) open() bool { return o.kind == history.Invoke }

// onLock reports whether the operation is one of the sequential lock, which the judge
// of linearizability knows.
func (o *op) onLock() bool {
	return o.f == history.Acquire || o.f == history.Release || o.f == history.Inspect
}

// unclear reports whether the outcome of the operation is unknown.
func (o *op) unclear() bool { return o.kind == history.Info || o.kind == history.Invoke }

// granted reports whether the operation took a hold.
func (o *op) granted() bool { return o.f == history.Acquire && o.kind == history.OK }

// failed reports whether the operation failed with an error class.
func (o *op) failed(class string) bool { return o.kind == history.Fail && o.res.Error == class }

// begin makes it the operation that an event begins.
func (o *op) begin(e *history.Event) {
	*o = op{
		id: e.Op, f: e.F, client: e.Client, owner: e.Owner, lock: e.Lock, inv: e.Time, ret: never,
		kind: history.Invoke, args: &noArgs, res: &noResult,
	}
	if e.Args != nil {
		o.args = e.Args
	}
}

// returned notes the return of the operation.
func (o *op) returned(e *history.Event) {
	o.kind, o.ret = e.Kind, e.Time
	if e.Result != nil {
		o.res = e.Result
	}
}

// filled returns the claims with Quorum and Nodes at least 1.
func filled(c history.Terms) history.Terms {
	c.Quorum, c.Nodes = max(c.Quorum, 1), max(c.Nodes, 1)
	return c
}

// trace is a valid history, indexed for the judges. It is built once and only
// read after that.
type trace struct {
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

	calls   map[clientLock]*calls       // lock operations only
	notesOf map[string][]*history.Event // client -> what it learned of lost holds and its crash
	stops   map[string][]*history.Event // client -> when it stopped its work
	ended   map[string][]int32          // lock -> its beliefs by their end
	asked   map[string]*callsOf         // lock -> its acquires

	faults  []*faultSpan // by start
	healed  ends         // of faults
	struck  map[strike]int64
	changes []change // of every server, in order of time
	spans   []span   // who held what on which server, by start
	end     *history.EndEvent
	endTime int64
	beliefs []Belief
	blamed  map[ownerLock][]blame // in order of time; nil before the first use
	fencing Verdict               // where the lock claims tokens
	// tokens says that fencing tokens give the order of the holds: as far as clients
	// saw, they grow. Otherwise fencing is violated, and linearizability is judged
	// without them.
	tokens bool
}

// instants are times by client.
type instants map[string]int64

// at is the time of a client, or never.
func (m instants) at(client string) int64 {
	if when, ok := m[client]; ok {
		return when
	}
	return never
}

type ownerLock struct{ owner, lock string }

func newTrace(h *history.History) *trace {
	t := &trace{
		h: h, claims: filled(h.Header.Claims), allow: allowancesOf(&h.Header),
		of: map[ownerLock]*account{}, byLock: map[string][]*op{}, client: map[string]string{}, crashed: instants{}, closing: instants{}, closed: instants{},
		notesOf: map[string][]*history.Event{}, stops: map[string][]*history.Event{}, struck: map[strike]int64{},
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
	logged := make([]*history.Event, 0, servers)
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
			logged = append(logged, e)
		case history.End:
			t.end = e.End
		}
	}
	t.faults = faultSpans(h, t.allow.settling)
	for _, f := range t.faults {
		t.healed.add(f.to)
	}
	t.indexCalls()
	t.indexServers(logged)
	t.beliefs = beliefs(t)
	t.indexBeliefs()
	if t.claims.Fencing {
		t.fencing = fencing(t)
		t.tokens = t.fencing.Outcome == OutcomeOK
	}
	return t
}

// invoked indexes an operation at its invocation.
func (t *trace) invoked(o *op) {
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
func (t *trace) note(e *history.Event) {
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

// noServerLog is the reason of verdicts that need Server events and have none.
const noServerLog = "no server log"

// leaseOf is the duration of an acquire's hold without a renewal; never if the
// lock has no lease or none was requested.
func (t *trace) leaseOf(o *op) int64 { return leaseUnder(t.claims, o) }

func leaseUnder(c history.Terms, o *op) int64 {
	if !c.Lease || o.args.Lease == 0 {
		return never
	}
	return o.args.Lease
}

// plus adds without exceeding never.
func plus(a, b int64) int64 {
	if a > never-b {
		return never
	}
	return a + b
}

// at formats an instant, as [history.At] does.
func at(ns int64) string { return history.At(ns) }

// long formats a duration: milliseconds below a second, else seconds.
func long(ns int64) string {
	if ns < second-millisecond/2 {
		return fmt.Sprintf("%.3g ms", ms(ns))
	}
	return fmt.Sprintf("%.3f s", float64(ns)/float64(second))
}

func ms(ns int64) float64 { return float64(ns) / float64(millisecond) }

// violation is a violated verdict.
func violation(ns int64, ops []int64, format string, args ...any) Verdict {
	reason := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return Verdict{Outcome: Violated, Reason: reason, AtMS: ms(ns), Ops: ops}
}

// byServers marks a verdict as resting on the server log.
func byServers(v Verdict) Verdict {
	v.Evidence = "server log"
	return v
}

// opIDs lists the ids of operations, leaving out nil and repetitions.
func opIDs(ops ...*op) []int64 {
	var ids []int64
	seen := map[int64]bool{}
	for _, o := range ops {
		if o != nil && !seen[o.id] {
			seen[o.id] = true
			ids = append(ids, o.id)
		}
	}
	return ids
}

// earlier returns the worse of two verdicts, which may be ok. A violation that is the
// lock's fault is worse than an inherent one, and then the earlier one is.
func earlier(a, b Verdict) Verdict {
	first := b
	switch {
	case a.Outcome != Violated:
	case b.Outcome != Violated, a.Faulty() && !b.Faulty(), a.Faulty() == b.Faulty() && a.AtMS <= b.AtMS:
		first = a
	}
	first.Excused = a.Excused + b.Excused
	return first
}
