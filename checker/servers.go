package checker

import (
	"slices"
	"sort"
	"strings"

	"github.com/holdfast-go/holdfast/history"
)

// change is a Server event with its names resolved: the lock it concerns, the
// group of its server, and owners in the place of stored identities.
type change struct {
	*history.ServerEvent
	t           int64
	lock, group string
	holder, was string // owners where known, else as stored
	byHolder    bool   // the client that sent the command owns holder
}

func (c *change) command() bool { return c.Cause == "command" && c.Role == "primary" }

// ends says that the change took the hold of its former holder away.
func (c *change) ends() bool { return c.was != "" && c.holder != c.was }

// grants says that the change made someone the holder.
func (c *change) grants() bool { return c.holder != "" && c.holder != c.was }

// takes says that the change made someone the holder, or its holder one more
// time.
func (c *change) takes() bool { return c.grants() || (c.holder != "" && c.Count > c.WasCount) }

// raises says that the same holder has more time to live than before.
func (c *change) raises() bool {
	if c.holder == "" || c.holder != c.was || c.WasTTL == -1 {
		return false
	}
	return c.TTL == -1 || c.TTL > c.WasTTL
}

// expires is when the hold ends by itself if the server's clock runs true.
func (c *change) expires() int64 {
	if c.TTL < 0 {
		return never
	}
	return plus(c.t, c.TTL)
}

// span is a time in which a server held the lock for someone.
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

// indexServers resolves the Server events. A lock that stores no identity, or
// one that belongs to no owner, is resolved by who took it: the owner whose
// acquire was open when its client's command made the holder appear.
func (t *trace) indexServers() {
	if t.h.Header.Unwatched {
		return
	}
	known := map[string]bool{}
	for k := range t.byOwner {
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
	changes := 0
	for i := range t.h.Events {
		if t.h.Events[i].Kind == history.Server {
			changes++
		}
	}
	t.changes = make([]change, 0, changes)
	for i := range t.h.Events {
		e := &t.h.Events[i]
		if e.Kind != history.Server {
			continue
		}
		s := e.Server
		c := change{ServerEvent: s, t: e.Time, lock: t.lockOf(e), group: groupOf(s.Node)}
		c.was = resolve(s, s.WasHolder)
		if c.command() && s.Holder != "" && !known[s.Holder] && (s.WasHolder != s.Holder) {
			if o := t.openOp(s.By, c.lock, history.Acquire, e.Time); o != nil {
				taker[[3]string{c.group, s.Key, s.Holder}] = o.owner
			}
		}
		c.holder = resolve(s, s.Holder)
		c.byHolder = t.client[c.holder] == s.By
		t.changes = append(t.changes, c)
	}
	t.indexChanges()
	t.indexSpans()
	t.indexHolding()
}

// lockOf names the lock a Server event concerns: its own field, else the key
// when a lock has that name, else the only lock there is.
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

// indexSpans turns changes into times of holding. A hold ends with the next
// change that ends it or when its TTL is over, whichever comes first; where a
// fault moved the server's clock only the change counts.
func (t *trace) indexSpans() {
	type place struct{ node, key string }
	openSpan := map[place]int{}
	expires := map[place]int64{}
	closeAt := func(p place, now int64) {
		if i, ok := openSpan[p]; ok {
			t.spans[i].to = max(min(now, expires[p]), t.spans[i].from)
			delete(openSpan, p)
		}
	}
	for i := range t.changes {
		c := &t.changes[i]
		p := place{c.Node, c.Key}
		if j, ok := openSpan[p]; ok && (t.spans[j].holder != c.holder || expires[p] < c.t) {
			closeAt(p, c.t)
		}
		if c.holder == "" {
			continue
		}
		expires[p] = c.expires()
		if t.clockFault(c.group, t.endTime) {
			expires[p] = never
		}
		if j, ok := openSpan[p]; ok {
			t.spans[j].replica = t.spans[j].replica && c.Role == "replica"
			continue
		}
		openSpan[p] = len(t.spans)
		t.spans = append(t.spans, span{c.lock, c.Node, c.group, c.Role == "replica", c.holder, c.t, never})
	}
	for p := range openSpan {
		closeAt(p, never)
	}
	sort.SliceStable(t.spans, func(i, j int) bool { return t.spans[i].from < t.spans[j].from })
}

// groupsHolding counts the groups on which an owner holds the lock at any
// instant of [from, to].
func (t *trace) groupsHolding(lock, owner string, from, to int64, replicas bool) int {
	var groups []string
	t.heldAt(ownerLock{owner, lock}, from, to, func(s *span) bool {
		if (replicas || !s.replica) && !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
		return len(groups) == t.claim.Nodes
	})
	return len(groups)
}
