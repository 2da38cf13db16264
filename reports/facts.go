package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
)

// facts is the result of one reading of a history, for the story, the timeline
// and the numbers.
type facts struct {
	h        *history.History
	beliefs  []checker.Belief  // by From
	overlaps []checker.Overlap // by From
	lost     []lostUpdate
	faults   []*history.Strike
	roles    map[string][]role // of every server
	handoffs []int64           // from a release to the next waiter's grant, in ns
	ops      map[int64]*operation
	clients  []string            // in natural order
	owners   map[string][]string // of each client, in natural order
	client   map[string]string   // of each owner
	begin    int64
	end      int64
	invalid  bool // there were grants, but the history names no holders
}

// operation is an invocation and its return; nil for an open operation.
type operation struct {
	invoke, done *history.Event
}

// lostUpdate is a write that replaced a value which its writer never saw.
type lostUpdate struct {
	event *history.Event
	args  *history.Args
}

func newFacts(h *history.History) *facts {
	f := &facts{h: h, ops: make(map[int64]*operation, len(h.Events)/3), owners: map[string][]string{}, client: map[string]string{}, faults: h.Strikes()}
	if len(h.Events) > 0 {
		f.begin, f.end = h.Events[0].Time, h.Events[len(h.Events)-1].Time
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Client != "" {
			if f.owners[e.Client] == nil {
				f.owners[e.Client] = []string{}
				f.clients = append(f.clients, e.Client)
			}
			if e.Owner != "" && !slices.Contains(f.owners[e.Client], e.Owner) {
				f.owners[e.Client] = append(f.owners[e.Client], e.Owner)
				f.client[e.Owner] = e.Client
			}
		}
		switch e.Kind {
		case history.Invoke:
			f.ops[e.Op] = &operation{invoke: e}
		case history.OK, history.Fail, history.Info:
			if op := f.ops[e.Op]; op != nil {
				op.done = e
			}
		}
		f.update(e)
	}
	slices.SortFunc(f.clients, natural)
	for _, o := range f.owners {
		slices.SortFunc(o, natural)
	}
	f.beliefs = checker.Beliefs(h)
	f.invalid = f.beliefs == nil && slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.Kind == history.OK && e.F == history.Acquire
	})
	f.overlaps = slices.Collect(checker.Overlaps(f.beliefs))
	f.findRoles()
	f.findHandoffs()
	return f
}

// update notices a write that overwrote another value than the one it was
// computed from.
func (f *facts) update(e *history.Event) {
	if e.Kind != history.OK || e.F != history.Write || e.Result == nil {
		return
	}
	op := f.ops[e.Op]
	if op == nil || op.invoke.Args == nil || op.invoke.Args.Base == e.Result.Value {
		return
	}
	f.lost = append(f.lost, lostUpdate{event: e, args: op.invoke.Args})
}

// findHandoffs measures how long each release that freed the lock took until a
// waiting owner had it. A grant that arrives before the release returns counts as
// no time at all.
func (f *facts) findHandoffs() {
	freed := map[string]int64{} // lock -> when the last release returned
	freeing := map[string]int{} // lock -> releases under way by a sole holder
	count := map[string]int{}   // owner -> holds
	for i := range f.h.Events {
		e := &f.h.Events[i]
		switch {
		case e.F == history.Release && e.Kind == history.Invoke && count[e.Owner] == 1:
			freeing[e.Lock]++
		case e.F == history.Release && e.Kind != history.Invoke:
			if count[e.Owner] == 1 {
				freeing[e.Lock] = max(0, freeing[e.Lock]-1)
				if e.Kind == history.OK {
					freed[e.Lock] = e.Time
				}
			}
			count[e.Owner] = max(0, count[e.Owner]-1)
		case e.F == history.Acquire && e.Kind == history.OK:
			count[e.Owner]++
			if count[e.Owner] > 1 {
				continue
			}
			op, at := f.ops[e.Op], int64(-1)
			if t, ok := freed[e.Lock]; ok {
				at = t
			} else if freeing[e.Lock] > 0 {
				at = e.Time
			}
			if op != nil && at >= 0 && op.invoke.Time < at {
				f.handoffs = append(f.handoffs, e.Time-at)
			}
			delete(freed, e.Lock)
		case e.Kind == history.Note && e.F == history.Lost:
			delete(count, e.Owner)
		}
	}
}

// strikeOf is the strike that an event of a history records.
func (f *facts) strikeOf(x *history.FaultEvent) *history.Strike {
	return f.faults[slices.IndexFunc(f.faults, func(s *history.Strike) bool { return s.FaultEvent == x })]
}

// downs are the times in which a server was down. They begin with its crash, or
// with the failover that crashed it, and end when that fault heals or another one
// restarts the server.
func (f *facts) downs(node string) []span {
	var out []span
	for _, x := range f.faults {
		if x.Failed() || !x.StopsNode || !slices.Contains(x.Targets, node) {
			continue
		}
		if n := len(out); n > 0 {
			out[n-1].to = min(out[n-1].to, x.From)
		}
		switch {
		case x.Ended || x.Open():
			out = append(out, span{x.From, x.To})
		case x.Promotes: // it stays down
			out = append(out, span{x.From, f.end})
		}
	}
	return out
}

// span is a part of a run.
type span struct{ from, to int64 }

// pauses are the times of a paused process.
func (f *facts) pauses(client string) []span {
	var out []span
	for _, x := range f.faults {
		if x.StopsProcess && !x.Failed() && slices.Contains(x.Targets, client) {
			out = append(out, span{x.From, x.To})
		}
	}
	return out
}

// overlapTime is the time for which at least two owners believed that they held the lock,
// and the longest single overlap. It counts no moment twice.
func (f *facts) overlapTime() (total, longest int64) {
	var until int64
	for _, o := range f.overlaps {
		longest = max(longest, o.To-o.From)
		if from := max(o.From, until); o.To > from {
			total += o.To - from
			until = o.To
		}
	}
	return total, longest
}

// who names an owner for a reader: by the client, if the client has only one
// owner.
func (f *facts) who(client, owner string) string {
	if client == "" {
		client = f.client[owner]
	}
	if owner == "" || len(f.owners[client]) == 1 && f.owners[client][0] == owner {
		return name(client)
	}
	return name(owner)
}

// holder names the holder that a server stores.
func (f *facts) holder(stored string) string { return f.who("", stored) }

// beliefsAt returns the beliefs of other owners on a lock at a time.
func (f *facts) beliefsAt(t int64, lock, except string) []*checker.Belief {
	var out []*checker.Belief
	for i := range f.beliefs {
		c := &f.beliefs[i]
		if c.From > t {
			break
		}
		if c.To > t && c.Lock == lock && c.Owner != except {
			out = append(out, c)
		}
	}
	return out
}

// natural orders names with numbers as people do: node-2 before node-10, and a
// primary before its replicas.
func natural(a, b string) int {
	for i, j := 0, 0; ; {
		switch {
		case i == len(a) || j == len(b):
			return cmp.Compare(len(a)-i, len(b)-j)
		case digit(a[i]) && digit(b[j]):
			x, y := i, j
			for i < len(a) && digit(a[i]) {
				i++
			}
			for j < len(b) && digit(b[j]) {
				j++
			}
			m, n := strings.TrimLeft(a[x:i], "0"), strings.TrimLeft(b[y:j], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
		case a[i] != b[j]:
			return cmp.Compare(a[i], b[j])
		default:
			i++
			j++
		}
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// index is the first event at or after t.
func (f *facts) index(t int64) int {
	i, _ := slices.BinarySearchFunc(f.h.Events, t, func(e history.Event, t int64) int { return cmp.Compare(e.Time, t) })
	return i
}

// line is the place of an event in the history.
func (f *facts) line(e *history.Event) int {
	for i := f.index(e.Time); i < len(f.h.Events); i++ {
		if &f.h.Events[i] == e {
			return i
		}
	}
	return len(f.h.Events)
}

// lineOfEnd is the place of the event that ends a belief. It is the call of its
// release, or the note that its owner learned of the loss or died.
func (f *facts) lineOfEnd(c *checker.Belief) int {
	for i := f.index(c.To); i < len(f.h.Events) && f.h.Events[i].Time == c.To; i++ {
		switch e := &f.h.Events[i]; {
		case c.EndOp != 0 && e.Op == c.EndOp && e.Kind == history.Invoke:
			return i
		case c.EndOp == 0 && e.Kind == history.Note && e.Client == c.Client && (e.Owner == "" || e.Owner == c.Owner):
			return i
		}
	}
	return len(f.h.Events)
}
