// Package story tells what happened in a run: the facts of its history, sentences and a diagram.
package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// Facts is the result of one reading of a history, for stories, pictures and numbers.
type Facts struct {
	History  *history.History
	Beliefs  []checker.Belief  // by From
	Overlaps []checker.Overlap // by From
	Lost     []LostUpdate
	Faults   []*history.Strike
	Roles    map[string][]Role // of every server
	Handoffs []int64           // from a release to the next waiter's grant, in ns
	Ops      map[int64]*Operation
	Clients  []string                 // in natural order
	OwnersOf map[string][]string      // of each client, in natural order
	ClientOf map[string]string        // of each owner
	shareOf  map[string]history.Share // of each owner that asked for a lock
	Begin    int64
	End      int64
	Invalid  bool // there were grants, but the history names no holders
}

// Operation is an invocation and its return; nil for an open operation.
type Operation struct {
	Invoke, Done *history.Event
}

// LostUpdate is a write that replaced a value which its writer never saw.
type LostUpdate struct {
	Event *history.Event
	Args  *history.Args
}

func NewFacts(h *history.History) *Facts {
	f := &Facts{History: h, Ops: make(map[int64]*Operation, len(h.Events)/3), OwnersOf: map[string][]string{}, ClientOf: map[string]string{}, shareOf: map[string]history.Share{}, Faults: h.Strikes()}
	if len(h.Events) > 0 {
		f.Begin, f.End = h.Events[0].Time, h.Events[len(h.Events)-1].Time
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Client != "" {
			if f.OwnersOf[e.Client] == nil {
				f.OwnersOf[e.Client] = []string{}
				f.Clients = append(f.Clients, e.Client)
			}
			if e.Owner != "" && e.Owner != e.Client && !slices.Contains(f.OwnersOf[e.Client], e.Owner) {
				f.OwnersOf[e.Client] = append(f.OwnersOf[e.Client], e.Owner)
				f.ClientOf[e.Owner] = e.Client
			}
		}
		switch e.Kind {
		case history.Invoke:
			f.Ops[e.Op] = &Operation{Invoke: e}
			if e.F == history.Acquire && e.Args != nil {
				f.shareOf[e.Owner] = e.Args.Share
			}
		case history.OK, history.Fail, history.Info:
			if op := f.Ops[e.Op]; op != nil {
				op.Done = e
			}
		}
		f.update(e)
	}
	slices.SortFunc(f.Clients, Natural)
	for _, o := range f.OwnersOf {
		slices.SortFunc(o, Natural)
	}
	f.Beliefs = checker.Beliefs(h)
	f.Invalid = f.Beliefs == nil && slices.ContainsFunc(h.Events, func(e history.Event) bool {
		return e.Kind == history.OK && e.F == history.Acquire
	})
	f.Overlaps = slices.Collect(checker.Overlaps(f.Beliefs, f.History.Header.Claims.Claims))
	f.findRoles()
	f.findHandoffs()
	return f
}

// update notices a write that overwrote another value than the one it was
// computed from.
func (f *Facts) update(e *history.Event) {
	if e.Kind != history.OK || e.F != history.Write || e.Result == nil {
		return
	}
	op := f.Ops[e.Op]
	if op == nil || op.Invoke.Args == nil || op.Invoke.Args.Base == e.Result.Value {
		return
	}
	f.Lost = append(f.Lost, LostUpdate{Event: e, Args: op.Invoke.Args})
}

// findHandoffs measures how long each release that freed the lock took until a
// waiting owner had it. A grant that arrives before the release returns counts as
// no time at all.
func (f *Facts) findHandoffs() {
	freed := map[string]int64{} // lock -> when the last release returned
	freeing := map[string]int{} // lock -> releases under way by a sole holder
	type key struct{ owner, lock string }
	count := map[key]int{} // holds
	for i := range f.History.Events {
		e := &f.History.Events[i]
		of := key{e.Owner, e.Lock}
		switch {
		case e.F == history.Release && e.Kind == history.Invoke && count[of] == 1:
			freeing[e.Lock]++
		case e.F == history.Release && e.Kind != history.Invoke:
			if count[of] == 1 {
				freeing[e.Lock] = max(0, freeing[e.Lock]-1)
				if e.Kind == history.OK {
					freed[e.Lock] = e.Time
				}
			}
			count[of] = max(0, count[of]-1)
		case e.F == history.Acquire && e.Kind == history.OK:
			count[of]++
			if count[of] > 1 {
				continue
			}
			op, at := f.Ops[e.Op], int64(-1)
			if t, ok := freed[e.Lock]; ok {
				at = t
			} else if freeing[e.Lock] > 0 {
				at = e.Time
			}
			if op != nil && at >= 0 && op.Invoke.Time < at {
				f.Handoffs = append(f.Handoffs, e.Time-at)
			}
			delete(freed, e.Lock)
		case e.Kind == history.Note && e.F == history.Lost:
			delete(count, of)
		}
	}
}

func (f *Facts) strikeOf(x *history.FaultEvent) *history.Strike {
	return f.Faults[slices.IndexFunc(f.Faults, func(s *history.Strike) bool { return s.FaultEvent == x })]
}

// Downs are the times in which a server was down. They begin with its crash, or
// with the failover that crashed it, and end when that fault heals or another one
// restarts the server.
func (f *Facts) Downs(node string) []Span {
	var out []Span
	for _, x := range f.Faults {
		if x.Failed() || !x.StopsNode || !slices.Contains(x.Targets, node) {
			continue
		}
		if n := len(out); n > 0 {
			out[n-1].To = min(out[n-1].To, x.From)
		}
		switch {
		case x.Ended || x.Open():
			out = append(out, Span{x.From, x.To})
		case x.Promotes: // it stays down
			out = append(out, Span{x.From, f.End})
		}
	}
	return out
}

// Span is a part of a run.
type Span struct{ From, To int64 }

// Pauses are the times of a paused process.
func (f *Facts) Pauses(client string) []Span {
	var out []Span
	for _, x := range f.Faults {
		if x.StopsProcess && !x.Failed() && slices.Contains(x.Targets, client) {
			out = append(out, Span{x.From, x.To})
		}
	}
	return out
}

// OverlapTime is the time for which at least two owners believed that they held the lock,
// and the longest single overlap. It counts no moment twice.
func (f *Facts) OverlapTime() (total, longest int64) {
	var until int64
	for _, o := range f.Overlaps {
		longest = max(longest, o.To-o.From)
		if from := max(o.From, until); o.To > from {
			total += o.To - from
			until = o.To
		}
	}
	return total, longest
}

// NameOf names an owner for readers: by its client, if the client has no other owner.
func (f *Facts) NameOf(client, owner string) string {
	client = cmp.Or(client, f.ClientOf[owner])
	name := english.Name(owner)
	if owner == "" || len(f.OwnersOf[client]) == 1 && f.OwnersOf[client][0] == owner {
		name = english.Name(client)
	}
	if share, asked := f.shareOf[owner]; asked {
		return f.History.Header.Claims.NameOwner(share, name)
	}
	return name
}

func (f *Facts) Holder(stored string) string { return f.NameOf("", stored) }

// HoldersAfter are the holders that a server of a lock has after a change of one of the
// holds that it had.
func HoldersAfter(of history.Claims, before []string, s *history.ServerEvent) (after []string) {
	for _, x := range before {
		if x != s.WasHolder && x != s.Holder && of.Capacity() > 1 {
			after = append(after, x)
		}
	}
	if s.Holder != "" {
		after = append(after, s.Holder)
	}
	return after
}

// Holders names the holders that a server stores. short says of several how many they are.
func (f *Facts) Holders(stored []string) (names, short string) {
	names = strings.Join(english.Words(stored, f.Holder), ", ")
	if len(stored) > 1 {
		return names, fmt.Sprintf("%d holders", len(stored))
	}
	return names, names
}

// beliefsAt returns the beliefs of other owners on a lock at a time.
func (f *Facts) beliefsAt(t int64, lock, except string) []*checker.Belief {
	var out []*checker.Belief
	for i := range f.Beliefs {
		c := &f.Beliefs[i]
		if c.From > t {
			break
		}
		if c.To > t && c.Lock == lock && c.Owner != except {
			out = append(out, c)
		}
	}
	return out
}

// Natural orders names with numbers as people do: node-2 before node-10, and a
// primary before its replicas.
func Natural(a, b string) int {
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

// Index is the first event at or after t.
func (f *Facts) Index(t int64) int {
	i, _ := slices.BinarySearchFunc(f.History.Events, t, func(e history.Event, t int64) int { return cmp.Compare(e.Time, t) })
	return i
}

// line is the place of an event in the history.
func (f *Facts) line(e *history.Event) int {
	for i := f.Index(e.Time); i < len(f.History.Events); i++ {
		if &f.History.Events[i] == e {
			return i
		}
	}
	return len(f.History.Events)
}

// lineOfEnd is the place of the event that ends a belief. It is the call of its
// release, or the note that its owner learned of the loss or died.
func (f *Facts) lineOfEnd(c *checker.Belief) int {
	for i := f.Index(c.To); i < len(f.History.Events) && f.History.Events[i].Time == c.To; i++ {
		switch e := &f.History.Events[i]; {
		case c.EndOp != 0 && e.Op == c.EndOp && e.Kind == history.Invoke:
			return i
		case c.EndOp == 0 && e.Kind == history.Note && e.Client == c.Client && (e.Owner == "" || e.Owner == c.Owner):
			return i
		}
	}
	return len(f.History.Events)
}
