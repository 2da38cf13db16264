package checker

import (
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/history"
)

// unbounded is how long a key may be without an expiry: between the two
// commands of a lock that sets the key first and the expiry after.
const unbounded = 50 * millisecond

// heldLease is one hold as the lease judge follows it.
type heldLease struct {
	o       *op
	granted map[string]int64 // group -> when a server granted it
}

// owed is how much of its lease a hold is still owed when a server changes
// it. Until a server has granted the hold the lease counts from its request.
func (h *heldLease) owed(c *change) int64 {
	if h.o.args.Lease == 0 {
		return 0
	}
	granted, ok := h.granted[c.group]
	if !ok {
		granted = h.o.inv
	}
	return granted + h.o.args.Lease - c.t
}

// underway is how long a request may be on its way to a server where nothing
// disturbs its client, on an ordinary network.
const underway = 100 * millisecond

// onItsWay is how long the request that a server granted may have been on its
// way. The client counts its lease from the send, as it must, and the server
// from when the request arrived; what a later request of the client leaves of
// the lease may be shorter by that.
func (t *trace) onItsWay(h *heldLease, group string) int64 {
	granted, ok := h.granted[group]
	if !ok {
		return 0
	}
	disturbed := t.overlap(h.o.inv, granted, pauseOfClient, func(f *faultSpan) bool { return f.touchesClient(h.o.client) })
	return min(granted-h.o.inv, t.allow.underway+t.allow.machine+disturbed)
}

// judgeLease checks in the server log that the TTL which a command leaves is
// no longer than asked, not endless, and not shorter than what is still owed,
// and that no hold expires before. A lock on several servers may lose some of
// them to expiry as long as a quorum keeps the hold.
func judgeLease(t *trace) Verdict {
	if t.needsServers() {
		return Verdict{Outcome: Unknown, Reason: noServerLog}
	}
	v := Verdict{Outcome: OutcomeOK}
	for _, k := range t.owners {
		v = earlier(v, t.leasesOf(k))
	}
	return t.withLog(v)
}

func (t *trace) leasesOf(k ownerLock) Verdict {
	steps := t.steps(k)
	var holds []heldLease
	var longest int64               // asked for in this session
	var earlierLongest, since int64 // what was asked for before it, and since when it is over
	var releasing bool
	j := 0
	for _, i := range t.onOwner[k] {
		c := &t.changes[i]
		for ; j < len(steps) && steps[j].t <= c.t; j++ {
			s := steps[j]
			switch {
			case s.o == nil:
				holds = nil
			case s.o.f == history.Acquire && !s.ret:
				if len(holds) == 0 && !releasing {
					earlierLongest, since = max(earlierLongest, longest), s.o.inv
					longest = 0
				}
				holds = append(holds, heldLease{s.o, map[string]int64{}})
				longest = max(longest, s.o.args.Lease)
			case s.o.f == history.Acquire && s.o.kind == history.OK && s.o.res.Count == 1 && len(holds) > 1:
				holds = holds[len(holds)-1:] // the holds before were lost
			case s.o.f == history.Acquire && s.ret && s.o.kind != history.OK && len(holds) > 0:
				holds = holds[:len(holds)-1]
			case s.o.f == history.Release && !s.ret:
				holds, releasing = withoutLargest(holds), true
			case s.o.f == history.Release:
				releasing = false
				if s.o.kind == history.Fail {
					holds = nil
				}
			}
		}
		if c.was == k.owner && c.ends() && c.Cause == "expiry" && c.Role == "primary" {
			for _, h := range holds {
				_, granted := h.granted[c.group]
				if owed := h.owed(c); granted && owed > 2*t.allow.rounding && t.groupsHolding(k.lock, k.owner, c.t+1, c.t+1, false) < t.claim.Quorum {
					return violation(c.t, opIDs(h.o), "the hold of %s on %s expired at %s; %s of its lease were still owed",
						k.owner, c.Node, at(c.t), long(owed))
				}
			}
		}
		if c.was == k.owner && c.command() && c.By == t.client[k.owner] {
			for _, h := range holds {
				// A round that failed was given back, and the next one may be
				// granted; or an acquire that fails takes back what it was granted.
				if h.o.ret >= c.t && (c.ends() || h.o.kind != history.OK && c.Count < c.WasCount) {
					delete(h.granted, c.group)
				}
			}
		}
		if c.holder != k.owner || !c.command() {
			continue
		}
		asked := longest
		if earlierLongest > asked && t.heldUpSince(c.By, since, c.t) { // a renewal of then, held back until now
			asked = earlierLongest
		}
		if v := t.leaseAt(k, c, int(i), holds, asked); v.Outcome == Violated {
			return v
		}
		for _, h := range holds {
			_, known := h.granted[c.group]
			switch {
			case !known && h.o.inv < c.t && h.o.ret >= c.t && c.takes():
				h.granted[c.group] = c.t
			case known && c.grants():
				delete(h.granted, c.group) // this server had lost it
			}
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// withoutLargest takes away the hold with the longest lease, the one whose
// release excuses most. A server that never granted that one gives back the
// longest of those that it did.
func withoutLargest(holds []heldLease) []heldLease {
	if len(holds) == 0 {
		return nil
	}
	out := append([]heldLease(nil), holds...)
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].o.inv+out[i].o.args.Lease < out[j].o.inv+out[j].o.args.Lease
	})
	gaveBack := map[string]bool{}
	for i := len(out) - 1; i >= 0; i-- {
		for group := range out[i].granted {
			if !gaveBack[group] {
				gaveBack[group] = true
				delete(out[i].granted, group)
			}
		}
	}
	return out[:len(out)-1]
}

func (t *trace) leaseAt(k ownerLock, c *change, i int, holds []heldLease, longest int64) Verdict {
	ops := func() []int64 { return opIDs(t.openOpOf(c.By, c.lock, c.t), t.grantOf(k.owner, k.lock, c.t)) }
	if longest == 0 {
		return Verdict{Outcome: OutcomeOK} // nothing known to have been asked for
	}
	if c.TTL == -1 {
		if t.staysUnbounded(i) {
			return violation(c.t, ops(), "%s left the hold of %s on %s without an expiry at %s; a lease of %s was asked for",
				command(c), k.owner, c.Node, at(c.t), long(longest))
		}
		return Verdict{Outcome: OutcomeOK}
	}
	if (c.grants() || c.WasTTL == -1 || c.TTL > c.WasTTL) && c.TTL > longest+t.allow.rounding {
		return violation(c.t, ops(), "%s gave the hold of %s on %s a TTL of %s at %s; at most %s was asked for",
			command(c), k.owner, c.Node, long(c.TTL), at(c.t), long(longest))
	}
	if t.clockFault(c.group, c.t) {
		return Verdict{Outcome: OutcomeOK} // the server counts time differently since
	}
	for _, h := range holds {
		// A server owes what it granted itself, and what it is granting now. What
		// was asked for at this very instant cannot have arrived.
		if _, known := h.granted[c.group]; h.o.inv == c.t || (h.o.ret < c.t && (!known || c.grants())) || (!known && !c.takes()) {
			continue
		}
		if owed := h.owed(c) - t.onItsWay(&h, c.group); c.TTL < owed-2*t.allow.rounding {
			return violation(c.t, slices.Compact(append(ops(), h.o.id)), "%s left the hold of %s on %s a TTL of %s at %s; %s of its lease were still owed",
				command(c), k.owner, c.Node, long(c.TTL), at(c.t), long(owed))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// staysUnbounded says whether the endless TTL that a change left was still
// there after the time a second command may take.
func (t *trace) staysUnbounded(i int) bool {
	c := &t.changes[i]
	for j := i + 1; j < len(t.changes) && t.changes[j].t <= c.t+unbounded+t.allow.machine; j++ {
		next := &t.changes[j]
		if next.Node == c.Node && next.Key == c.Key && (next.holder != c.holder || next.TTL >= 0) {
			return false
		}
	}
	return t.endTime > c.t+unbounded+t.allow.machine
}
