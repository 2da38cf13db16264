package checker

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/history"
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

// raises reports whether the holder stayed and its time to live grew.
func (c *change) raises() bool {
	if c.holder == "" || c.holder != c.was || c.WasTTL == -1 {
		return false
	}
	return c.TTL == -1 || c.TTL > c.WasTTL
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

// indexServers resolves the Server events. If a lock stores no identity, or an
// unknown one, its owner is the one whose acquire was open when its client's
// command made the holder appear.
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
			s := &t.spans[h.span]
			s.replica = s.replica && c.Role == "replica"
			continue
		}
		h.span = len(t.spans)
		t.spans = append(t.spans, span{c.lock, c.Node, c.group, c.Role == "replica", c.holder, c.t, never})
	}
	for _, h := range places {
		closeAt(h, never)
	}
}

// groupsHolding counts the groups on which an owner holds the lock at any
// instant of [from, to].
func (t *trace) groupsHolding(lock, owner string, from, to int64, replicas bool) int {
	var groups []string
	t.heldAt(t.account(ownerLock{owner, lock}), from, to, func(s *span) bool {
		if (replicas || !s.replica) && !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
		return len(groups) == t.claim.Nodes
	})
	return len(groups)
}
