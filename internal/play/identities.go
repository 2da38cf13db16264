package play

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
)

// resolve finds the owners of the identities that any owner of a client may have stored,
// and names them in the events of the run. An identity belongs to the only owner whose
// acquire was open when its client sent it, or to the one who gave up before. One that a
// release stored belongs to the waiter who was granted the lock next. If one owner alone
// was asking for another lock when the identity became its holder, it belongs to that
// owner. Otherwise it belongs to the owner who was asking most often when it became the
// holder. Among several such owners it is the one who was releasing when the client
// released it. After that it is the one whose acquire was open at the first time and was
// granted first. An identity in a queue becomes the holder long after it was stored.
func (o *owners) resolve(start time.Time, events []history.Event) []history.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	type taker struct {
		identity string
		by       asker
	}
	acquires, released := operations(history.Acquire, events), operations(history.Release, events)
	held := map[taker][]int64{}      // when that client made it the holder
	given := map[taker][]int64{}     // when that client ended its hold
	elsewhere := map[string]string{} // by identity, the owner who alone asked for another lock than its first; "" if there are several
	on := copies{}
	for _, e := range events {
		s := e.Server
		if s == nil || s.Cause == "replication" {
			continue
		}
		since := on.follow(&e)
		if s.Cause == "command" && s.WasHolder != "" && s.WasHolder != s.Holder {
			was := taker{s.WasHolder, asker{s.By, e.Lock}}
			given[was] = append(given[was], e.Time)
		}
		if s.Cause != "command" || s.Holder == "" {
			continue
		}
		at := taker{s.Holder, asker{s.By, e.Lock}}
		granted := func(a *asked) bool { return a.open(since) && a.how == history.OK && a.to < e.Time }
		if s.Holder != s.WasHolder && !slices.ContainsFunc(acquires[at.by], granted) || held[at] == nil {
			held[at] = append(held[at], e.Time)
			if first := o.unresolved[s.Holder]; first.client == s.By && first.lock != e.Lock {
				if owner := onlyAsker(acquires[at.by], e.Time); owner != "" {
					if other, known := elsewhere[s.Holder]; known && other != owner {
						owner = ""
					}
					elsewhere[s.Holder] = owner
				}
			}
		}
	}
	for identity, s := range o.unresolved {
		first, by := int64(s.at.Sub(start)), asker{s.client, s.lock}
		asks := onlyAsker(acquires[by], first)
		owner := handedTo(released[by], acquires[by], acquires[asker{"", s.lock}], first)
		if owner == "" && s.sent && (asks != "" || !slices.ContainsFunc(acquires[by], func(a *asked) bool { return a.open(first) })) {
			owner = cmp.Or(gaveUp(acquires[by], asks, first), asks)
		}
		if owner = cmp.Or(owner, elsewhere[identity]); owner == "" {
			times := held[taker{identity, by}]
			if len(times) > 0 {
				first = max(first, times[0])
			}
			owner = asking(acquires[by], released[by], first, times, given[taker{identity, by}])
		}
		if owner != "" {
			o.name[identity] = owner
		}
	}
	behind := map[*history.ServerEvent]readChange{}
	for i := range events {
		if e := events[i].Server; e != nil {
			named := *e
			named.Holder, named.WasHolder = cmp.Or(o.name[e.Holder], e.Holder), cmp.Or(o.name[e.WasHolder], e.WasHolder)
			events[i].Server = &named
			if c, known := o.behind[e]; known {
				behind[&named] = c
			}
		}
	}
	return joinHolds(events, behind)
}

// copies are the identities of a lock on servers, each with its servers and the time
// since when one of them has it.
type copies map[copied]*copiesOf

type copied struct{ lock, identity string }

type copiesOf struct {
	nodes map[string]bool
	since int64
}

// follow enters an event, and returns since when some server has had its holder. A
// holder that a renewal stores on one more server has a hold already.
func (c copies) follow(e *history.Event) (since int64) {
	s := e.Server
	if was := c[copied{e.Lock, s.WasHolder}]; was != nil && s.Holder != s.WasHolder {
		delete(was.nodes, s.Node)
	}
	if s.Holder == "" {
		return e.Time
	}
	key := copied{e.Lock, s.Holder}
	now := c[key]
	if now == nil || len(now.nodes) == 0 {
		now = &copiesOf{nodes: map[string]bool{}, since: e.Time}
		c[key] = now
	}
	now.nodes[s.Node] = true
	return now.since
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
			open[e.Op] = a
			for _, k := range []asker{{e.Client, e.Lock}, {"", e.Lock}} {
				all[k] = append(all[k], a)
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

// gaveUp is the owner of the last acquire before a time that ended unheard, if the one who
// asks then is refused, or is "". A request of its client may go on.
func gaveUp(acquires []*asked, asks string, at int64) (owner string) {
	for _, a := range acquires {
		switch {
		case a.owner == asks && a.open(at) && a.how != history.Fail:
			return ""
		case a.owner != asks && a.how == history.Info && a.to < at:
			owner = a.owner
		}
	}
	return owner
}

// open reports whether an operation lasts at a time.
func (a *asked) open(at int64) bool { return a.from <= at && at <= a.to }

// handedTo is the owner to whom a client handed the lock on at a time. Of all acquires
// that were open then, it is that of the first grant. It is "" if the client released
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

// asking is the owner with an open acquire at most of the times. Of several, it is the
// one with an open release when most holds were released. After that it is the one who
// was granted the lock next after most of the times. Then it is the one whose acquire was
// open at the first time and was granted first, or without a grant was invoked last. If
// no acquire was open, it is the owner of the last one before that had an unknown
// outcome, or else of the last one.
func asking(acquires, releases []*asked, first int64, times, given []int64) string {
	type score struct{ open, released, next int }
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
	for _, r := range releases {
		if slices.ContainsFunc(given, r.open) {
			n := often[r.owner]
			n.released++
			often[r.owner] = n
		}
	}
	for _, at := range times {
		if a := nextGrant(acquires, at); a != nil {
			n := often[a.owner]
			n.next++
			often[a.owner] = n
		}
	}
	for _, n := range often {
		if cmp.Or(cmp.Compare(n.open, most.open), cmp.Compare(n.released, most.released), cmp.Compare(n.next, most.next)) > 0 {
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
