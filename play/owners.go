package play

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/subject"
)

// owners maps the values that a lock stores on a server to its owners.
type owners struct {
	locks map[string]string // their names, as clients know them, by the key
	how   subject.Holder    // the key tells who holds the lock

	mu   sync.Mutex
	name map[string]string
	told map[string]bool // the identities that a lock has told of
	// unclaimed is when a client stored an identity that any of its owners may
	// have made: the lock does not tell what it stores.
	unclaimed map[string]stored
	unclear   string          // the first value seen that does not tell who holds the lock
	watched   bool            // whether the key of a lock was ever written
	elsewhere map[string]bool // the other keys that clients wrote
}

// stored is the client, lock and time of a stored identity.
type stored struct {
	client, lock string
	at           time.Time
	sent         bool // at is when the client sent the request
}

// NewOwners returns the owners of a scenario that is played with a lock.
func NewOwners(s *scenarios.Scenario, l *subject.Subject) *owners {
	o := &owners{
		locks: map[string]string{}, how: l.Holder(),
		name: map[string]string{}, told: map[string]bool{}, unclaimed: map[string]stored{}, elsewhere: map[string]bool{},
	}
	for _, name := range s.Workload.Names() {
		o.locks[l.Key(name)] = name
	}
	return o
}

// IsLock reports whether a key belongs to a lock.
func (o *owners) IsLock(key string) bool {
	_, is := o.locks[key]
	return is
}

// Keys are the sorted keys of the locks.
func (o *owners) Keys() []string { return slices.Sorted(maps.Keys(o.locks)) }

// began records that an owner starts its work. identity is the value that the lock
// stores for it, or "".
func (o *owners) began(owner, identity string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if identity != "" {
		o.name[identity], o.told[identity] = owner, true
	}
}

// stored records that a client has stored an identity.
func (o *owners) stored(identity string, by stored) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.unclaimed[identity]; known || by.client == "" || o.told[identity] || o.told[numbered(identity)] {
		return
	}
	o.unclaimed[identity] = by
}

func (o *owners) Of(identity string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if name, ok := o.name[identity]; ok {
		return name
	}
	return cmp.Or(o.name[numbered(identity)], identity)
}

// numbered is the declared part of an identity that ends with a number: everything
// up to its last two colons. It is "" for any other identity.
func numbered(identity string) string {
	i := strings.LastIndex(identity, "::")
	if i < 0 {
		return ""
	}
	return identity[:i+2]
}

// Beside notes a change of a key that belongs to no lock.
func (o *owners) Beside(c keyspace.Change) {
	if c.Cause != "command" || c.By == "" || !c.After.Exists() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.elsewhere[c.Key] = true
}

// Elsewhere returns the keys that clients wrote, if they never wrote that of a lock.
func (o *owners) Elsewhere() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched {
		return nil
	}
	return slices.Sorted(maps.Keys(o.elsewhere))
}

// ServerEvent converts a change of a lock key to a server event.
func (o *owners) ServerEvent(c keyspace.Change) history.Event {
	o.mu.Lock()
	o.watched = true
	o.mu.Unlock()
	s := &history.ServerEvent{Node: c.Node, Role: c.Role, Key: c.Key, Cause: c.Cause, Command: c.Command, By: c.By}
	before, wasCount, _ := o.how.Of(c.Before)
	after, count, clear := o.how.Of(c.After)
	if !clear && c.After.Exists() {
		s.Holds = c.After.Type + ": " + c.After.String()
		o.cannotRead(c)
	}
	by := stored{c.By, o.locks[c.Key], c.At, false}
	switch {
	case !c.Sent.IsZero():
		by.at, by.sent = c.Sent, true // a request that was held back is of who sent it, not of who works now
	case c.At.IsZero():
		by.at = time.Now()
	}
	for _, identity := range newcomers(c, before, after) {
		o.stored(identity, by)
	}
	s.Holder, s.Count = o.Of(after), count
	s.WasHolder, s.WasCount = o.Of(before), wasCount
	s.TTL, s.WasTTL = ttl(c.After, c.Now), ttl(c.Before, c.Now)
	return history.Event{Kind: history.Server, Lock: o.locks[c.Key], Server: s}
}

// claim finds the owners of the identities that any owner of a client may have
// stored, and names them in the events of the run. An identity belongs to the only
// owner whose acquire was open when its client sent it. One that a release stored
// belongs to the waiter who was granted the lock next. Otherwise it belongs to the
// owner who was asking for the lock most often when the identity became the holder.
// Among several such owners it is the one whose acquire was open at the first time
// and was granted first. An identity in a queue becomes the holder long after it
// was stored.
func (o *owners) claim(start time.Time, events []history.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	type taker struct {
		identity string
		by       asker
	}
	held := map[taker][]int64{} // when that client made it the holder
	for _, e := range events {
		s := e.Server
		if s == nil || s.Cause != "command" || s.Holder == "" {
			continue
		}
		if at := (taker{s.Holder, asker{s.By, e.Lock}}); s.Holder != s.WasHolder || held[at] == nil {
			held[at] = append(held[at], e.Time)
		}
	}
	asked, released := operations(history.Acquire, events), operations(history.Release, events)
	for identity, s := range o.unclaimed {
		first, by := int64(s.at.Sub(start)), asker{s.client, s.lock}
		if owner := onlyAsker(asked[by], first); owner != "" && s.sent {
			o.name[identity] = owner
			continue
		}
		if owner := handedTo(released[by], asked[by], asked[asker{"", s.lock}], first); owner != "" {
			o.name[identity] = owner
			continue
		}
		times := held[taker{identity, by}]
		if len(times) > 0 {
			first = max(first, times[0])
		}
		if owner := asking(asked[by], first, times); owner != "" {
			o.name[identity] = owner
		}
	}
	for i := range events {
		if e := events[i].Server; e != nil {
			named := *e
			named.Holder, named.WasHolder = cmp.Or(o.name[e.Holder], e.Holder), cmp.Or(o.name[e.WasHolder], e.WasHolder)
			events[i].Server = &named
		}
	}
}

// asker is a client that asks for a lock.
type asker struct{ client, lock string }

// asked is an operation of an owner, from its invocation to its return.
type asked struct {
	owner    string
	from, to int64
	how      history.Kind // of its return; empty while it is open
}

// operations returns those of one kind of each client, and under no client those of
// all, in the order of their invocation.
func operations(f history.Func, events []history.Event) map[asker][]*asked {
	all, open := map[asker][]*asked{}, map[int64]*asked{}
	for _, e := range events {
		switch {
		case e.F != f || e.Op == 0:
		case e.Kind == history.Invoke:
			a := &asked{owner: e.Owner, from: e.Time, to: math.MaxInt64}
			for _, k := range []asker{{e.Client, e.Lock}, {"", e.Lock}} {
				open[e.Op], all[k] = a, append(all[k], a)
			}
		case open[e.Op] != nil:
			open[e.Op].to, open[e.Op].how = e.Time, e.Kind
		}
	}
	return all
}

// onlyAsker is the owner who alone had an open acquire at a time, or "".
func onlyAsker(acquires []*asked, at int64) (owner string) {
	for _, a := range acquires {
		if !a.open(at) || a.owner == owner {
			continue
		}
		if owner != "" {
			return ""
		}
		owner = a.owner
	}
	return owner
}

// open reports whether an operation lasts at a time.
func (a *asked) open(at int64) bool { return a.from <= at && at <= a.to }

// handedTo is the owner to whom a client handed the lock on at a time: of all acquires
// that were open then, the one that was granted first. It is "" if the client released
// nothing at that time, or was asking for the lock itself.
func handedTo(releases, own, acquires []*asked, at int64) string {
	open := func(a *asked) bool { return a.open(at) }
	if !slices.ContainsFunc(releases, open) || slices.ContainsFunc(own, open) {
		return ""
	}
	if next := nextGrant(acquires, at); next != nil {
		return next.owner
	}
	return ""
}

// nextGrant is the acquire that was open at a time and was granted first; nil if none
// was.
func nextGrant(acquires []*asked, at int64) (next *asked) {
	for _, a := range acquires {
		if a.open(at) && a.how == history.OK && (next == nil || a.to < next.to) {
			next = a
		}
	}
	return next
}

// asking is the owner with an open acquire at most of the times; among several the
// one who was granted the lock next after most of them, then the one whose acquire was
// open at the first time and was granted first, and without a grant the one invoked
// last. If no acquire was open, it is the owner of the last one before that had an
// unknown outcome, or else of the last one.
func asking(acquires []*asked, first int64, times []int64) string {
	type score struct{ open, next int }
	often, most := map[string]score{}, score{}
	for _, a := range acquires {
		i, _ := slices.BinarySearch(times, a.from)
		j, _ := slices.BinarySearch(times, a.to)
		if j < len(times) && times[j] == a.to {
			j++
		}
		n := often[a.owner]
		n.open += j - i
		often[a.owner] = n
	}
	for _, at := range times {
		if a := nextGrant(acquires, at); a != nil {
			n := often[a.owner]
			n.next++
			often[a.owner] = n
		}
	}
	for _, n := range often {
		if n.open > most.open || n.open == most.open && n.next > most.next {
			most = n
		}
	}
	leading := slices.DeleteFunc(slices.Clone(acquires), func(a *asked) bool { return often[a.owner] != most || !a.open(first) })
	if a := nextGrant(leading, first); a != nil {
		return a.owner
	}
	if n := len(leading); n > 0 {
		return leading[n-1].owner
	}
	var last *asked
	for _, a := range acquires {
		if a.from <= first && (last == nil || a.how == history.Info || last.how != history.Info) {
			last = a
		}
	}
	if last == nil {
		return ""
	}
	return last.owner
}

// newcomers are the identities that a change has stored. In a queue they are those
// of waiters, because the next holder was there before.
func newcomers(c keyspace.Change, before, after string) []string {
	if c.After.Items != nil {
		before := make(map[string]bool, len(c.Before.Items)) // a queue may be long
		for _, x := range c.Before.Items {
			before[x] = true
		}
		return slices.DeleteFunc(slices.Clone(c.After.Items), func(x string) bool { return before[x] })
	}
	if after == "" || after == before {
		return nil
	}
	return []string{after}
}

// cannotRead records that a change left a value that does not show the holder.
func (o *owners) cannotRead(c keyspace.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unclear == "" {
		o.unclear = c.After.Type
	}
}

// unseen returns the reason why the servers do not show the holder, or "".
func (o *owners) unseen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.how == subject.HolderNone:
		return "the lock declares that its key does not tell who holds it"
	case o.unclear == "":
		return ""
	case o.how == subject.HolderValue:
		return fmt.Sprintf("the key of the lock is a %s, and the lock does not declare how that tells who holds it", o.unclear)
	}
	return fmt.Sprintf("the lock declares %q as its holder, and its key is a %s that does not tell one", o.how, o.unclear)
}

func ttl(v keyspace.Value, now time.Time) int64 {
	switch {
	case !v.Exists():
		return 0
	case v.ExpireAt.IsZero():
		return -1
	}
	return max(int64(v.ExpireAt.Sub(now)), 1)
}
