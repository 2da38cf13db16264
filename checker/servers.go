package checker

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/checker/internal/linear"
	"github.com/holdfast-go/holdfast/internal/english"
)

// change is a Server event with resolved names: its lock, the group of its server,
// and owners instead of stored identities.
type change struct {
	*history.ServerEvent
	t           int64
	lock, group string
	holder, was string // owners where known, else as stored
}

func (c *change) command() bool { return c.Cause == "command" && c.Role == "primary" }

// ends reports whether the change removed the hold of its former holder.
func (c *change) ends() bool { return c.was != "" && c.holder != c.was }

// grants reports whether the change made someone the holder.
func (c *change) grants() bool { return c.holder != "" && c.holder != c.was }

// takes reports whether the change made someone the holder, or raised its hold
// count.
func (c *change) takes() bool { return c.grants() || (c.holder != "" && c.Count > c.WasCount) }

// givesBack reports whether the change took holds of an owner away.
func (c *change) givesBack(owner string) bool {
	return c.was == owner && (c.ends() || c.Count < c.WasCount)
}

// takesBack reports whether an acquire removed the hold of an earlier round of its own.
func (c *change) takesBack(acquire *op) bool {
	return c.command() && c.was == acquire.owner && c.ends() && c.By == acquire.client && c.t < acquire.ret
}

// raises reports whether the holder stayed and its time to live grew.
func (c *change) raises() bool {
	if c.holder == "" || c.holder != c.was || c.WasTTL == -1 {
		return false
	}
	return c.TTL == -1 || c.TTL > c.WasTTL
}

// keepsLease reports whether the holder stayed, and its time to live too.
func (c *change) keepsLease(rounding int64) bool {
	return c.holder != "" && c.holder == c.was && max(c.TTL, c.WasTTL)-min(c.TTL, c.WasTTL) <= rounding
}

// expires is when the hold ends by itself, if the server's clock is true.
func (c *change) expires() int64 {
	if c.TTL < 0 {
		return never
	}
	return plus(c.t, c.TTL)
}

// span is an interval in which a server held the lock for an owner.
type span struct {
	lock, node, group string
	replica           bool
	holder            string
	from, to          int64
	led               int64 // since when the server is known to be a primary
}

// groupOf names the group a server belongs to, by the server that was its
// primary at the start.
func groupOf(node string) string {
	if i := strings.Index(node, "-replica"); i > 0 {
		return node[:i]
	}
	return node
}

// byGroup holds a value for some of a lock's few groups of servers.
type byGroup[T any] []ofGroup[T]

type ofGroup[T any] struct {
	group string
	is    T
}

// find is the value of a group, or nil.
func (b byGroup[T]) find(group string) *T {
	for i := range b {
		if b[i].group == group {
			return &b[i].is
		}
	}
	return nil
}

func (b byGroup[T]) get(group string) (is T, ok bool) {
	if place := b.find(group); place != nil {
		return *place, true
	}
	return is, false
}

// at is the value of a group, created on first use.
func (b *byGroup[T]) at(group string) *T {
	if place := b.find(group); place != nil {
		return place
	}
	*b = append(*b, ofGroup[T]{group: group})
	return &(*b)[len(*b)-1].is
}

func (b *byGroup[T]) set(group string, is T) { *b.at(group) = is }

func (b *byGroup[T]) remove(group string) {
	*b = slices.DeleteFunc(*b, func(g ofGroup[T]) bool { return g.group == group })
}

// indexServers resolves the Server events. A lock may store no identity, or an unknown
// one. Then its owner is the one whose acquire was open when a command of its client
// made the holder appear.
func (t *trace) indexServers(logged []*history.Event) {
	if t.h.Header.Unwatched {
		return
	}
	known := map[string]bool{}
	for _, k := range t.owners {
		known[k.owner] = true
	}
	taker := map[[3]string]string{} // group, key, stored identity -> owner
	resolve := func(s *history.ServerEvent, stored string) string {
		if stored == "" || known[stored] {
			return stored
		}
		if o := taker[[3]string{groupOf(s.Node), s.Key, stored}]; o != "" {
			return o
		}
		return stored
	}
	t.changes = make([]change, 0, len(logged))
	for _, e := range logged {
		s := e.Server
		c := change{ServerEvent: s, t: e.Time, lock: t.lockOf(e), group: groupOf(s.Node)}
		c.was = resolve(s, s.WasHolder)
		if c.command() && s.Holder != "" && !known[s.Holder] && (s.WasHolder != s.Holder) {
			if o := t.openOp(s.By, c.lock, history.Acquire, e.Time); o != nil {
				taker[[3]string{c.group, s.Key, s.Holder}] = o.owner
			}
		}
		c.holder = resolve(s, s.Holder)
		t.changes = append(t.changes, c)
	}
	t.indexChanges()
	t.indexSpans()
	t.indexHolding()
}

// lockOf names the lock of a Server event: its own field, else the key if a lock
// has that name, else the only lock.
func (t *trace) lockOf(e *history.Event) string {
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

// indexSpans turns changes into intervals of holding, by their start. A hold ends
// at the next change that ends it or at the end of its TTL, whichever is first.
// After a fault on the server's clock only the change counts.
func (t *trace) indexSpans() {
	type place struct{ node, key string }
	type holding struct {
		span    int // the open one, -1 for none
		expires int64
	}
	closeAt := func(h *holding, now int64) {
		if h.span >= 0 {
			s := &t.spans[h.span]
			s.to = max(min(now, h.expires), s.from)
			h.span = -1
		}
	}
	spans := 0
	for i := range t.changes {
		if t.changes[i].grants() {
			spans++
		}
	}
	t.spans = make([]span, 0, spans)
	places := map[place]*holding{}
	for i := range t.changes {
		c := &t.changes[i]
		p := place{c.Node, c.Key}
		h := places[p]
		if h == nil {
			h = &holding{span: -1}
			places[p] = h
		}
		if h.span >= 0 && (t.spans[h.span].holder != c.holder || h.expires < c.t) {
			closeAt(h, c.t)
		}
		if c.holder == "" {
			continue
		}
		h.expires = c.expires()
		if t.clockFault(c.group, t.endTime) {
			h.expires = never
		}
		if h.span >= 0 {
			if s := &t.spans[h.span]; s.replica && c.Role != "replica" {
				s.replica, s.led = false, c.t
			}
			continue
		}
		h.span = len(t.spans)
		t.spans = append(t.spans, span{c.lock, c.Node, c.group, c.Role == "replica", c.holder, c.t, never, c.t})
	}
	for _, h := range places {
		closeAt(h, never)
	}
}

func anyServer(*span) bool   { return true }
func onPrimary(s *span) bool { return !s.replica }

// groupsHolding counts the groups with a hold of an owner at any instant of [from, to]
// on a server that counts.
func (t *trace) groupsHolding(lock, owner string, from, to int64, counts func(*span) bool) int {
	var groups []string
	for s := range t.account(ownerLock{owner, lock}).heldAt(from, to) {
		if counts(s) && !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
		if len(groups) == t.claims.Nodes {
			break
		}
	}
	return len(groups)
}

// keptByClock is how long a server kept the hold of an acquire because a fault moved its
// clock, and the reason; 0 if no clock did. The movement bounds it.
func (t *trace) keptByClock(o *op) (kept int64, how string) {
	if o == nil || t.claims.Nodes > 1 {
		return 0, ""
	}
	next := t.untilNext(o)
	for s := range o.own.heldAt(o.inv, plus(next, t.allow.settling)) {
		if s.replica && !t.replaced(s.group, s.to) || !s.replica && s.from > next {
			continue
		}
		longer := int64(0)
		for _, f := range t.faults {
			if !f.MovesClock || !f.touchesGroup(s.group) || f.from > s.to || f.to < s.from && !s.replica {
				continue
			}
			if s.replica { // it has the end of the lease from its primary, whose clock was ahead
				longer = plus(longer, f.setsForth(s.to))
				continue
			}
			longer = plus(longer, f.setsBack(s.from, s.to))
			how = fmt.Sprintf("a fault moved the clock of %s at %s, and it kept the hold of %s for longer than its lease", s.node, at(f.from), o.owner)
		}
		if longer > 0 {
			if s.replica {
				how = fmt.Sprintf("%s took the place of a server whose clock was ahead, and kept the hold of %s for longer than its lease", s.node, o.owner)
			}
			return min(s.to-s.from, plus(t.leaseOnServer(o, t.leaseOf(o)), longer)), how
		}
	}
	return 0, how
}

// keptUnseen is keptByClock for the ith belief of a history without a server log. The
// server may have kept the hold until its release, or until the next grant.
func (t *trace) keptUnseen(i int, end *op) (kept int64, how string) {
	c := &t.beliefs[i]
	o := t.op(c.AcquireOp)
	lease := t.leaseOf(o)
	if len(t.changes) > 0 || t.claims.Nodes > 1 || c.Renewed || lease == never || end != nil && end.kind == history.Fail {
		return 0, ""
	}
	longer, until := int64(0), int64(never)
	if end != nil && end.kind == history.OK {
		until = end.ret
	}
	if next := t.nextBelief(i, until); next != nil {
		until = next.From
	}
	for _, f := range t.faults {
		if !f.MovesClock || f.to < o.inv || f.ClockRate == 0 && f.from < o.inv || f.from > plus(o.ret, lease) {
			continue
		}
		if n := f.setsBack(o.inv, until); n > 0 {
			longer = plus(longer, n)
			how = fmt.Sprintf("a fault moved the clock of a server at %s, and it may have kept the hold of %s for longer than its lease", at(f.from), o.owner)
		}
	}
	return min(plus(t.onServer(lease), longer), until-o.ret), how
}

// setsBack is how far a fault at most sets a server's clock back between two times.
func (s *faultSpan) setsBack(from, to int64) int64 {
	switch {
	case s.ClockRate != 0:
		return max(0, int64((1-s.ClockRate)*float64(min(to, s.to)-max(from, s.from))))
	case s.ClockJump != 0:
		return max(0, -s.ClockJump)
	}
	return never
}

// setsForth is by how much a fault moves a clock forward before a time.
func (s *faultSpan) setsForth(to int64) int64 {
	switch {
	case s.ClockRate != 0:
		return max(0, int64((s.ClockRate-1)*float64(min(to, s.to)-s.from)))
	case s.ClockJump != 0:
		return max(0, s.ClockJump)
	}
	return never
}

// untilNext is how long an operation may be carried out: until it returned, or,
// when its outcome is unknown, until its owner asked again.
func (t *trace) untilNext(o *op) int64 {
	if !o.unclear() {
		return o.ret
	}
	return o.nextInv()
}

// commandOf reports whether a command of an operation's client made a change on
// its lock.
func (t *trace) commandOf(c *change, o *op) bool {
	return c.command() && c.By == o.client && c.lock == o.lock
}

// commandsOf yields the changes that an operation may have made, see commandOf.
func (t *trace) commandsOf(o *op) iter.Seq[*change] {
	return func(yield func(*change) bool) {
		to := t.untilNext(o)
		for _, c := range o.own.changes.from(o.inv) {
			if c.t > to || t.commandOf(c, o) && !yield(c) {
				return
			}
		}
	}
}

// branches divides the operations on a lock after a fault that left two servers of a
// group that both answer. Each server has the operations that it carried out, and those
// from before. A refusal that no log shows is left out, as either server may have given
// it. A hold that was released on the other server lasts as long as this one kept it.
// There are no branches if only one server carried out operations. Without a log all
// operations after the fault are left out.
func (t *trace) branches(lock string, ops []linear.Op) (branches [][]linear.Op, why string) {
	fork := slices.IndexFunc(t.faults, func(f *faultSpan) bool { return f.Forks })
	if fork < 0 || t.claims.Nodes > 1 {
		return nil, ""
	}
	since := t.faults[fork].from
	if len(t.changes) == 0 {
		before := slices.DeleteFunc(slices.Clone(ops), func(p linear.Op) bool { return t.op(p.ID).ret >= since })
		return [][]linear.Op{before}, fmt.Sprintf("two servers may have answered after the fault at %s", at(since))
	}
	on := make(map[int64][]string, len(ops)) // which servers carried out an operation
	var nodes []string
	for i := range ops {
		id := ops[i].ID
		on[id] = t.carriedOutBy(t.op(id))
		for _, node := range on[id] {
			if t.op(id).ret >= since && !slices.Contains(nodes, node) {
				nodes = append(nodes, node)
			}
		}
	}
	if len(nodes) < 2 {
		return nil, ""
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		branches = append(branches, t.branch(lock, node, since, ops, on))
	}
	return branches, fmt.Sprintf("%s both answered after the fault at %s, and neither knew of the other", english.And(nodes), at(since))
}

// branch are the operations on one of two servers that both answer.
func (t *trace) branch(lock, node string, since int64, ops []linear.Op, on map[int64][]string) []linear.Op {
	branch := make([]linear.Op, 0, len(ops))
	place := make(map[int64]int, len(ops))
	for _, p := range ops {
		if o := t.op(p.ID); o != nil && o.ret >= since && !slices.Contains(on[p.ID], node) {
			silent := len(on[p.ID]) == 0
			switch p.Kind {
			case linear.GaveBack:
				if !silent {
					p.Kind, p.Return = linear.MaybeGave, linear.Forever
				}
			case linear.MaybeGave:
			case linear.GotLock, linear.MaybeGot:
				if !silent {
					continue
				}
			default:
				continue
			}
		}
		place[p.ID] = len(branch)
		branch = append(branch, p)
	}
	for i := range t.beliefs {
		c := &t.beliefs[i]
		end := t.endingOf(c)
		if c.Lock != lock || end != nil && (end.ret < since || slices.Contains(on[end.id], node)) {
			continue
		}
		asked := t.op(c.AcquireOp)
		if p, has := place[asked.id]; has && branch[p].Kind == linear.GotLock {
			until := max(asked.ret, since) // the servers were one until then
			for s := range asked.own.heldAt(asked.inv, until) {
				if s.node == node {
					until = max(until, s.to)
					break
				}
			}
			if !t.takenAway(asked, node, until) {
				branch[p].Renewed, branch[p].Lease = false, min(branch[p].Lease, max(1, until-asked.ret))
			}
		}
	}
	return branch
}

// takenAway reports whether a command of another client ended a hold on a server.
func (t *trace) takenAway(asked *op, node string, when int64) bool {
	for _, c := range asked.own.changes.between(when, when) {
		if c.Node == node && c.was == asked.owner && c.ends() {
			return c.command() && c.By != asked.client
		}
	}
	return false
}

// carriedOutBy are the servers on which an operation changed what its owner has.
func (t *trace) carriedOutBy(o *op) (nodes []string) {
	if o == nil {
		return nil
	}
	for c := range t.commandsOf(o) {
		if !slices.Contains(nodes, c.Node) {
			nodes = append(nodes, c.Node)
		}
	}
	return nodes
}
