package checker

import (
	"iter"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// change is a Server event with resolved names: its lock, the group of its server,
// and owners instead of stored identities.
type change struct {
	*history.ServerEvent
	t           int64
	lock, group string
	holder, was string // owners where known, else as stored
	leaves      bool   // the hold goes on, on another server
}

func (c *change) command() bool { return c.Cause == "command" && c.Role == "primary" }

func (c *change) ends() bool { return c.was != "" && c.holder != c.was }

func (c *change) grants() bool { return c.holder != "" && c.holder != c.was }

// takes reports whether the change made someone the holder, or raised its hold count.
func (c *change) takes() bool { return c.grants() || (c.holder != "" && c.Count > c.WasCount) }

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
	since             int64 // from, or that of the first of these in which permits came and went
	led               int64 // since when the server is known to be a primary
	permits           int   // the holder's, of a semaphore; otherwise 1
}

// permits is the number of permits that the holder of a change has on the server: an
// acquire of a semaphore takes another one. The holder of any other lock counts as one.
func (g *serverLog) permits(c *change) int {
	if g.claims.Permits > 1 {
		return max(c.Count, 1)
	}
	return 1
}

// byGroup holds a value for some of a lock's few groups of servers.
type byGroup[T any] []ofGroup[T]

type ofGroup[T any] struct {
	group string
	is    T
}

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

// serverLog has what the servers did to the lock keys, in changes and in spans of
// holding.
type serverLog struct {
	*index
	*faultLog
	changes []change // of every server, in order of time
	spans   []span   // who held what on which server, by start
}

// newServerLog resolves the Server events. A lock may store no identity, or an unknown
// one. Then its owner is the one whose acquire was open when a command of its client
// made the holder appear.
func newServerLog(x *index, f *faultLog) *serverLog {
	t := &serverLog{index: x, faultLog: f}
	if x.h.Header.Unwatched {
		return t
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
		if o := taker[[3]string{t.groupOf(s.Node), s.Key, stored}]; o != "" {
			return o
		}
		return stored
	}
	t.changes = make([]change, 0, len(t.logged))
	for _, e := range t.logged {
		s := e.Server
		c := change{ServerEvent: s, t: e.Time, lock: t.lockOfEvent(e), group: t.groupOf(s.Node)}
		c.was = resolve(s, s.WasHolder)
		if c.command() && s.Holder != "" && !known[s.Holder] && (s.WasHolder != s.Holder) {
			if o := t.openOp(s.By, c.lock, history.Acquire, e.Time); o != nil {
				taker[[3]string{c.group, s.Key, s.Holder}] = o.owner
			}
		}
		c.holder = resolve(s, s.Holder)
		if c.Cause == migration {
			c.goesOn()
		}
		t.changes = append(t.changes, c)
	}
	t.indexChanges()
	t.indexSpans()
	t.indexHolding()
	return t
}

// indexSpans turns changes into intervals of holding, by their start. A hold ends
// at the next change that ends it or at the end of its TTL, whichever is first.
// After a fault on the server's clock only the change counts.
func (g *serverLog) indexSpans() {
	type place struct{ node, key, holder string } // without the holder for a mutex, which has one place
	placeOf := func(c *change, holder string) place {
		if g.claims.Capacity() == 1 {
			holder = ""
		}
		return place{c.Node, c.Key, holder}
	}
	type holding struct {
		span    int // the open one, -1 for none
		expires int64
	}
	closeAt := func(h *holding, now int64) {
		if h.span >= 0 {
			s := &g.spans[h.span]
			s.to = max(min(now, h.expires), s.from)
			h.span = -1
		}
	}
	spans := 0
	for i := range g.changes {
		if g.changes[i].grants() {
			spans++
		}
	}
	g.spans = make([]span, 0, spans)
	places := map[place]*holding{}
	for i := range g.changes {
		c := &g.changes[i]
		if left := places[placeOf(c, c.was)]; left != nil && (c.ends() || c.leaves) {
			closeAt(left, c.t)
		}
		if c.leaves {
			continue
		}
		p := placeOf(c, c.holder)
		h := places[p]
		if h == nil {
			h = &holding{span: -1}
			places[p] = h
		}
		if h.span >= 0 && (g.spans[h.span].holder != c.holder || h.expires < c.t) {
			closeAt(h, c.t)
		}
		if c.holder == "" {
			continue
		}
		h.expires = c.expires()
		if g.clockFault(c.group, g.endTime) {
			h.expires = never
		}
		led, since := c.t, c.t
		if h.span >= 0 {
			s := &g.spans[h.span]
			if s.replica && c.Role != "replica" {
				s.replica, s.led = false, c.t
			}
			if s.permits == g.permits(c) {
				continue
			}
			led, since = s.led, s.since
			closeAt(h, c.t)
		}
		h.span = len(g.spans)
		g.spans = append(g.spans, span{c.lock, c.Node, c.group, c.Role == "replica", c.holder, c.t, never, since, led, g.permits(c)})
	}
	for _, h := range places {
		closeAt(h, never)
	}
}

func anyServer(*span) bool { return true }

func onPrimary(s *span) bool { return !s.replica }

// groupsHolding counts the groups with a hold of an owner at any instant of [from, to]
// on a server that counts.
func (g *serverLog) groupsHolding(lock, owner string, from, to int64, counts func(*span) bool) int {
	var groups []string
	for s := range g.accountOf(ownerLock{owner, lock}).heldAt(from, to) {
		if counts(s) && !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
		if len(groups) == g.claims.Nodes {
			break
		}
	}
	return len(groups)
}

type changeList struct {
	all  []*change
	near int // where the last search ended
}

// indexChanges lists the changes of every lock, and those that gave it to an owner,
// kept it for the owner, or removed it.
func (g *serverLog) indexChanges() {
	note := func(owner string, c *change) {
		l := &g.accountOf(ownerLock{owner, c.lock}).changes
		l.all = append(l.all, c)
	}
	for i := range g.changes {
		c := &g.changes[i]
		note("", c)
		if c.holder != "" {
			note(c.holder, c)
		}
		if c.was != "" && c.was != c.holder {
			note(c.was, c)
		}
	}
}

type spanIndex struct {
	all  []*span
	ends ends
	near int // where the last search ended
}

func (g *serverLog) indexHolding() {
	add := func(owner string, s *span) {
		x := &g.accountOf(ownerLock{owner, s.lock}).spans
		x.all = append(x.all, s)
		x.ends.addEnd(s.to)
	}
	for i := range g.spans {
		add("", &g.spans[i])
		add(g.spans[i].holder, &g.spans[i])
	}
}

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
		for i := x.ends.lastBefore(n, from); i >= 0 && yield(x.all[i]); {
			i = x.ends.lastBefore(i, from)
		}
	}
}

func (a *account) anyHeld(from, to int64, picks func(*span) bool) bool {
	for s := range a.heldAt(from, to) {
		if picks(s) {
			return true
		}
	}
	return false
}
