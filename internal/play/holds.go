package play

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// holds follow the holds of a lock whose author says how to read them. A change of
// any of its keys may begin or end one, and so may the time.
type holds struct {
	lock    *locks.Lock
	names   []string             // of the locks, the longest first
	keyOf   map[string][]string  // the locks of a key
	on      map[copyOn]*readCopy // what servers have
	touched map[copyOn]bool      // by the command whose changes arrive
	ends    map[string]time.Time // the next end on a server, by its clock
}

// copyOn is the copy of a lock on a server.
type copyOn struct{ node, lock string }

// readCopy is such a copy with its last known holds.
type readCopy struct {
	keys  map[string]keyspace.Value
	holds []keyspace.Hold
	end   time.Time // when the first hold ends, also one of several of an owner; zero for never
}

// all are the holds of a copy, none without one.
func (c *readCopy) all() []keyspace.Hold {
	if c == nil {
		return nil
	}
	return c.holds
}

// newHolds returns nil for a lock whose holder its key shows.
func newHolds(l *locks.Lock, names []string) *holds {
	if l.Holders == nil {
		return nil
	}
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return &holds{
		lock: l, names: names, keyOf: map[string][]string{}, on: map[copyOn]*readCopy{},
		touched: map[copyOn]bool{}, ends: map[string]time.Time{},
	}
}

// locksOf names the locks that a key belongs to. If the patterns of two locks match it, it
// is that of the longer name. A pattern without a name is that of all.
func (h *holds) locksOf(key string) []string {
	names, known := h.keyOf[key]
	if !known {
		if h.lock.SharesKey(key) {
			names = h.names
		} else if i := slices.IndexFunc(h.names, func(name string) bool { return h.lock.HasKey(name, key) }); i >= 0 {
			names = h.names[i : i+1]
		}
		h.keyOf[key] = names
	}
	return names
}

// holdChange is a change of one hold on a server: its lease or its count, or another one in
// its place.
type holdChange struct {
	lock    string
	was, is keyspace.Hold
}

// follow enters a change of a key, or with an empty Key that the time has passed an end.
// It returns what changed for the locks. A command's changes count together, after the
// last one.
func (h *holds) follow(c keyspace.Change) []holdChange {
	if c.Key == "" {
		for at := range h.on {
			h.touched[at] = h.touched[at] || at.node == c.Node
		}
	} else {
		for _, name := range h.locksOf(c.Key) {
			h.enter(copyOn{c.Node, name}, c)
		}
		if c.More {
			return nil
		}
	}
	var changes []holdChange
	for _, at := range slices.SortedFunc(maps.Keys(h.touched), func(a, b copyOn) int { return strings.Compare(a.lock, b.lock) }) {
		if !h.touched[at] || at.node != c.Node {
			continue
		}
		now := h.on[at]
		was := now.holds
		now.holds, now.end = h.read(at.lock, c.Now, now.keys)
		changes = appendChanges(changes, at.lock, was, now.holds)
	}
	clear(h.touched)
	h.ends[c.Node] = time.Time{}
	for at, now := range h.on { // a minimum: order does not matter
		if at.node == c.Node {
			h.ends[c.Node] = keyspace.EarlierEnd(h.ends[c.Node], now.end)
		}
	}
	return changes
}

// enter enters a change of a key of a copy.
func (h *holds) enter(at copyOn, c keyspace.Change) {
	if h.on[at] == nil {
		h.on[at] = &readCopy{keys: map[string]keyspace.Value{}}
	}
	if now := h.on[at]; c.After.Exists() {
		now.keys[c.Key] = c.After
	} else {
		delete(now.keys, c.Key)
	}
	h.touched[at] = true
}

// read lists the holds whose leases go on, of those that the lock's author sees, with one
// for each owner. It also returns the first end of one. Of a mutex the first one counts.
// Others are in the order of their owners: the author may have ranged over a map.
func (h *holds) read(name string, now time.Time, keys map[string]keyspace.Value) (all []keyspace.Hold, end time.Time) {
	for _, x := range h.lock.Holders(keyspace.NewView(name, now, keys)) {
		if x.Owner == "" || !x.End.IsZero() && !x.End.After(now) {
			continue
		}
		if x.Count = max(x.Count, 1); x.Shared {
			x.Owner = asReader(x.Owner)
		}
		end = keyspace.EarlierEnd(end, x.End)
		if i := holdOf(all, x.Owner); i >= 0 {
			all[i] = together(all[i], x)
			continue
		}
		all = append(all, x)
		if h.lock.Claims.Capacity() == 1 {
			return all, end
		}
	}
	slices.SortFunc(all, func(a, b keyspace.Hold) int { return strings.Compare(a.Owner, b.Owner) })
	return all, end
}

// together is two holds of one owner as one, which lasts until the later end.
func together(a, b keyspace.Hold) keyspace.Hold {
	switch {
	case a.Count == 0:
		return b
	case b.End.IsZero() || !a.End.IsZero() && b.End.After(a.End):
		a.End = b.End
	}
	a.Count += b.Count
	return a
}

func holdOf(holds []keyspace.Hold, owner string) int {
	return slices.IndexFunc(holds, func(x keyspace.Hold) bool { return x.Owner == owner })
}

// appendChanges appends the changes from some holds to others. A hold that ended and one
// that began in the same command are one change.
func appendChanges(all []holdChange, lock string, was, is []keyspace.Hold) []holdChange {
	var ended, began []keyspace.Hold
	for _, x := range was {
		if i := holdOf(is, x.Owner); i < 0 {
			ended = append(ended, x)
		} else if x != is[i] {
			all = append(all, holdChange{lock, x, is[i]})
		}
	}
	for _, x := range is {
		if holdOf(was, x.Owner) < 0 {
			began = append(began, x)
		}
	}
	for i := range max(len(ended), len(began)) {
		change := holdChange{lock: lock}
		if i < len(ended) {
			change.was = ended[i]
		}
		if i < len(began) {
			change.is = began[i]
		}
		all = append(all, change)
	}
	return all
}

// readEvents converts a change of a key of a lock to server events. The caller holds mu.
func (o *owners) readEvents(c keyspace.Change) []history.Event {
	var events []history.Event
	for _, x := range o.holds.follow(c) {
		if x.is.Owner != x.was.Owner && x.is.Owner != "" && len(o.told) == 0 { // a lock that declares its owners declares all
			o.noteStored(x.is.Owner, storedBy(c, x.lock))
		}
		// The lock's own key stands for whichever has changed: a lock may have several keys, and share one.
		s := &history.ServerEvent{Node: c.Node, Role: c.Role, Key: o.holds.lock.Key(x.lock), Cause: c.Cause, Command: c.Command, By: c.By}
		s.Holder, s.WasHolder = o.nameOf(x.lock, x.is.Owner), o.nameOf(x.lock, x.was.Owner)
		setHolds(s, x.was, x.is, c.Now)
		events = append(events, history.Event{Kind: history.Server, Lock: x.lock, Server: s})
		if o.several {
			o.behind[s] = readChange{x, c.Now}
		}
	}
	return events
}

// setHolds sets the counts and the leases of holds before and after an event.
func setHolds(s *history.ServerEvent, was, is keyspace.Hold, now time.Time) {
	s.Count, s.TTL, s.WasCount, s.WasTTL = is.Count, rest(is, now), was.Count, rest(was, now)
}

// readChange is the change behind an event, with the time by the server's clock.
type readChange struct {
	holdChange
	now time.Time
}

// ownedHold is a hold with the name of its owner.
type ownedHold struct {
	keyspace.Hold
	owner string
}

// joinHolds makes one hold of those that an owner has on a server under several identities.
// An owner who heard no answer to an acquire asks again under another one. The events have
// the names of their owners.
func joinHolds(events []history.Event, behind map[*history.ServerEvent]readChange) []history.Event {
	if len(behind) == 0 {
		return events
	}
	on := map[copyOn]map[string]ownedHold{} // by identity
	out := make([]history.Event, 0, len(events))
	for _, e := range events {
		c, known := behind[e.Server]
		if !known {
			out = append(out, e)
			continue
		}
		holds, was, is := on[copyOn{e.Server.Node, e.Lock}], e.Server.WasHolder, e.Server.Holder
		if holds == nil {
			holds = map[string]ownedHold{}
			on[copyOn{e.Server.Node, e.Lock}] = holds
		}
		if was != "" {
			holds[c.was.Owner] = ownedHold{c.was, was}
		}
		wasBefore, isBefore := holdsOf(holds, was), holdsOf(holds, is)
		delete(holds, c.was.Owner)
		if is != "" {
			holds[c.is.Owner] = ownedHold{c.is, is}
		}
		wasAfter, isAfter := holdsOf(holds, was), holdsOf(holds, is)
		changes := [][2]ownedHold{{wasBefore, wasAfter}, {isBefore, isAfter}}
		switch {
		case is == was || is == "":
			changes = changes[:1]
		case was == "":
			changes = changes[1:]
		case wasAfter.owner == "" && isBefore.owner == "": // handed on
			changes = [][2]ownedHold{{wasBefore, isAfter}}
		}
		for _, x := range changes {
			joined := *e.Server
			joined.WasHolder, joined.Holder = x[0].owner, x[1].owner
			setHolds(&joined, x[0].Hold, x[1].Hold, c.now)
			e.Server = &joined
			out = append(out, e)
		}
	}
	return out
}

// holdsOf are the holds of an owner as one; without any, it has no owner.
func holdsOf(holds map[string]ownedHold, owner string) (all ownedHold) {
	for _, x := range holds { // a sum and a maximum: order does not matter
		if x.owner == owner {
			all = ownedHold{together(all.Hold, x.Hold), owner}
		}
	}
	return all
}

// rest is the rest of a lease, as in [history.ServerEvent].
func rest(x keyspace.Hold, now time.Time) int64 {
	switch {
	case x.Count == 0:
		return 0
	case x.End.IsZero():
		return -1
	}
	return max(int64(x.End.Sub(now)), 1)
}

// NextEnd is the next moment at which a hold ends on a server without a change of a key,
// by the clock of that server; zero for none.
func (o *owners) NextEnd(node string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holds.ends[node]
}
