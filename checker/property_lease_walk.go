package checker

import (
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// unbounded is the time for which a key may lack an expiry. It lies between two commands
// of a lock that sets first the key and then the expiry.
const unbounded = 50 * millisecond

type heldLease struct {
	o       *op
	granted byGroup[serverGrant]
	short   bool // it was handed on for less than its lease
	// extended is the end of the hold by its last extension there.
	extended byGroup[int64]
}

type serverGrant struct {
	at int64 // from when on the server owes the lease
	by *change
}

func (h *heldLease) forgetGrant(group string) {
	h.granted.remove(group)
	h.extended.remove(group)
}

// latestEnd is the latest end of the hold by its lease and its extensions.
func (h *heldLease) latestEnd() int64 {
	end := plus(h.o.inv, h.o.args.Lease)
	for _, g := range h.extended {
		end = max(end, g.is)
	}
	return end
}

// owed is the rest of a hold's lease when a server changes it. Before a server has
// granted the hold, the lease counts from its request.
func (h *heldLease) owed(c *change) int64 {
	if h.o.args.Lease == 0 {
		return 0
	}
	granted, ok := h.granted.get(c.group)
	if !ok {
		granted.at = h.o.inv
	}
	extended, _ := h.extended.get(c.group)
	return max(granted.at+h.o.args.Lease, extended) - c.t
}

// underway is the time for which a request may be on its way to a server without a fault, on
// an ordinary network.
const underway = 100 * millisecond

// onItsWay is the time for which a granted request may have been on its way. The client
// counts its lease from the send, and the server from the arrival. So a later
// request of the client may leave a lease that is shorter by this time.
func (j leaseJudge) onItsWay(h *heldLease, group string) int64 {
	granted, ok := h.granted.get(group)
	if !ok || h.short {
		return 0
	}
	disturbed := j.disturbance(h.o.inv, granted.at, touches(h.o.client))
	return min(granted.at-h.o.inv, j.allow.underway+j.allow.machine+disturbed)
}

// leaseWalk follows the holds of one owner on a lock through its operations and the
// changes on the servers.
type leaseWalk struct {
	leaseJudge
	ownerLock
	holds     []heldLease // outermost first, with those that it is asking for
	releasing bool
	longest   int64 // requested since the owner last had no hold
	// before is the longest lease requested before that time, which is since.
	before, since int64
	refreshed     byGroup[int64] // when the hold was last granted or renewed there
}

func (j leaseJudge) judgeOwner(k ownerLock) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	w := leaseWalk{leaseJudge: j, ownerLock: k}
	steps := j.steps(k)
	for _, c := range j.accountOf(k).changes.all {
		for ; len(steps) > 0 && steps[0].t <= c.t; steps = steps[1:] {
			w.followStep(steps[0])
		}
		v = earlier(v, w.judgeExpiry(c))
		if c.was == k.owner && c.command() && c.By == j.client[k.owner] {
			w.noteGivenBack(c)
		}
		if c.holder == k.owner && c.command() {
			w.dropUnansweredGrant(c)
			v = earlier(v, w.judgeLeft(c))
			w.noteGrant(c)
			w.followExtension(c)
		}
	}
	return v
}

func (w *leaseWalk) followStep(s step) {
	switch {
	case s.o == nil:
		w.holds = nil
	case s.o.f == history.Acquire && !s.ret:
		if len(w.holds) == 0 && !w.releasing {
			w.before, w.since, w.longest = max(w.before, w.longest, w.accountOf(w.ownerLock).longestExtension(w.since, s.o.inv)), s.o.inv, 0
		}
		w.holds = append(w.holds, heldLease{o: s.o})
		w.longest = max(w.longest, s.o.args.Lease)
	case s.o.granted() && s.o.res.Count == 1 && len(w.holds) > 1:
		w.holds = w.holds[len(w.holds)-1:] // the holds before were lost
	case s.o.f == history.Acquire && s.o.kind != history.OK && len(w.holds) > 0:
		w.holds = w.holds[:len(w.holds)-1]
	case s.o.f == history.Release && !s.ret:
		w.holds, w.releasing = withoutLargest(w.holds), true
	case s.o.f == history.Release:
		w.releasing = false
		if s.o.kind == history.Fail {
			w.holds = nil
		}
	}
}

// judgeExpiry checks that no hold expires while its lease is owed, unless a quorum of
// servers keeps it.
func (w *leaseWalk) judgeExpiry(c *change) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	if c.was != w.owner || !c.ends() || c.Cause != "expiry" || c.Role != "primary" {
		return v
	}
	for _, h := range w.holds {
		_, granted := h.granted.get(c.group)
		allowed := 2 * w.allow.rounding
		if w.clockFault(c.group, c.t) { // the lock reckons with clocks that differ by its drift
			allowed += w.driftOf(h.o.args.Lease)
		}
		if owed := h.owed(c); granted && owed-w.onItsWay(&h, c.group) > allowed && w.groupsHolding(w.lock, w.owner, c.t+1, c.t+1, onPrimary) < w.claims.Quorum {
			v = earlier(v, inherently(violation(c.t, opIDs(h.o), "the hold of %s on %s expired at %s; %s of its lease were still owed",
				w.owner, c.Node, at(c.t), long(owed)), w.whyLeaseInherent(c, h.o.args.Lease)))
		}
	}
	return v
}

// noteGivenBack notes that the owner's client took back an acquire that has not returned.
// A round that failed was given back, and the next one may be granted, as may a hold
// that too few replicas had confirmed. An acquire that fails takes back its grant.
func (w *leaseWalk) noteGivenBack(c *change) {
	for n := range w.holds {
		h := &w.holds[n]
		if h.o.ret >= c.t && (c.ends() || (h.o.kind != history.OK || w.claims.Acks > 0 || w.claims.Nodes > 1) && c.Count < c.WasCount) {
			h.forgetGrant(c.group)
		}
	}
	if c.Count < c.WasCount {
		w.dropLevelTakenBack(c)
	}
}

func (w *leaseWalk) noteGrant(c *change) {
	w.refreshed.set(c.group, c.t)
	for n := range w.holds {
		h := &w.holds[n]
		_, known := h.granted.get(c.group)
		switch {
		case !known && h.o.inv < c.t && h.o.ret >= c.t && c.takes() && !w.ofEarlier(h.o, c):
			h.granted.set(c.group, serverGrant{at: c.t, by: c})
			if w.handedOn(w.ownerLock, c) == h.o {
				h.owesOnly(c)
			}
		case known && h.short && c.raises():
			h.owesOnly(c)
		case known && c.grants():
			h.forgetGrant(c.group) // this server had lost it
		}
	}
}

// dropUnansweredGrant notes that a server took over without the grant of an acquire that has not
// returned. No client heard of that grant, so the new server does not owe it.
func (w *leaseWalk) dropUnansweredGrant(c *change) {
	for n := range w.holds {
		h := &w.holds[n]
		if g, known := h.granted.get(c.group); known && h.o.ret >= c.t && g.by.Node != c.Node && c.WasCount < g.by.Count {
			h.forgetGrant(c.group)
		}
	}
}

// dropLevelTakenBack notes that one of several servers gives up a level that a quorum of
// the others keeps. The server had granted the level, its reply was lost, and the lock
// continued without it. The level is that of the latest hold that the server granted.
func (w *leaseWalk) dropLevelTakenBack(c *change) {
	for n := len(w.holds) - 1; n >= 0; n-- {
		h := &w.holds[n]
		if _, granted := h.granted.get(c.group); !granted {
			continue
		}
		if h.o.ret < c.t && len(h.granted) > w.claims.Quorum {
			h.forgetGrant(c.group)
		}
		return
	}
}

// withoutLargest removes the hold with the longest lease, whose release excuses most. A
// server that never granted it releases the longest of those that it granted.
func withoutLargest(holds []heldLease) []heldLease {
	if len(holds) <= 1 {
		return nil
	}
	out := append([]heldLease(nil), holds...)
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].latestEnd() < out[j].latestEnd()
	})
	var gaveBack byGroup[bool]
	for i := len(out) - 1; i >= 0; i-- {
		out[i].granted = slices.DeleteFunc(out[i].granted, func(g ofGroup[serverGrant]) bool {
			_, already := gaveBack.get(g.group)
			gaveBack.set(g.group, true)
			return !already
		})
	}
	return out[:len(out)-1]
}

// owesOnly limits the debt of a server to the rest of a handed-on hold. After the
// change that makes it whole, the debt is the lease.
func (h *heldLease) owesOnly(c *change) {
	h.short = c.expires() < c.t+h.o.args.Lease
	h.granted.at(c.group).at = min(c.t, c.expires()-h.o.args.Lease)
}

// judgeLeft checks the TTL that a command of a client leaves to the owner's hold.
func (w *leaseWalk) judgeLeft(c *change) Verdict {
	longest := w.longest
	if w.before > longest && w.heldUpSince(c.By, w.since, c.t) { // a renewal of then, late until now
		longest = w.before
	}
	longest = max(longest, w.accountOf(w.ownerLock).longestExtension(w.since, c.t))
	ops := func() []int64 { return opIDs(w.openOpOf(c.By, c.lock, c.t), w.grantOf(w.owner, w.lock, c.t)) }
	if longest == 0 {
		return Verdict{Outcome: OutcomeOK} // no lease is known to be requested
	}
	if c.TTL == -1 {
		if w.staysUnbounded(c) {
			return violation(c.t, ops(), "%s left the hold of %s on %s without an expiry at %s; a lease of %s was asked for",
				command(c), w.owner, c.Node, at(c.t), long(longest))
		}
		return Verdict{Outcome: OutcomeOK}
	}
	if (c.grants() || c.WasTTL == -1 || c.TTL > c.WasTTL) && c.TTL > w.onServer(longest)+w.allow.rounding {
		return violation(c.t, ops(), "%s gave the hold of %s on %s a TTL of %s at %s; at most %s was asked for",
			command(c), w.owner, c.Node, long(c.TTL), at(c.t), long(longest))
	}
	if w.clockFault(c.group, c.t) {
		return Verdict{Outcome: OutcomeOK} // the server counts time differently since
	}
	if v := w.judgeRenewal(c); v.Outcome == Violated {
		return v
	}
	if o := w.handedOn(w.ownerLock, c); o != nil { // for as much as the waiter's place had left
		return w.judgeHandedOn(c, o)
	}
	for _, h := range w.holds {
		// A server owes the holds that it granted itself, and one that it is granting.
		// A request of this very instant cannot have arrived.
		if _, known := h.granted.get(c.group); h.o.inv == c.t || (h.o.ret < c.t && (!known || c.grants())) || (!known && (!c.takes() || w.ofEarlier(h.o, c))) {
			continue
		}
		if owed := h.owed(c) - w.onItsWay(&h, c.group); c.TTL < owed-2*w.allow.rounding {
			v := violation(c.t, slices.Compact(append(ops(), h.o.id)), "%s left the hold of %s on %s a TTL of %s at %s; %s of its lease were still owed",
				command(c), w.owner, c.Node, long(c.TTL), at(c.t), long(owed))
			return inherently(v, w.whyHoldSetBack(w.ownerLock, h.o.inv, c.t)) // the server may have lost the grant of the inner hold
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// ofEarlier reports whether a server granted an earlier acquire of the owner: its
// client went on without the answer, as it does on several servers. The TTL is the lease
// of that acquire, or a longer one that it left alone.
func (j leaseJudge) ofEarlier(acquire *op, c *change) bool {
	since := j.heldBack(acquire.client, c.group, c.t)
	ops := &acquire.own.ops
	for i := ops.latest(acquire.inv) - 1; i >= 0 && ops.all[i].ret >= since; i-- {
		o := ops.all[i]
		if o.f != history.Acquire || o.args.Lease == acquire.args.Lease {
			continue
		}
		if max(c.TTL-o.args.Lease, o.args.Lease-c.TTL) <= 2*j.allow.rounding || o.args.Lease < c.TTL && c.keepsLease(j.allow.rounding) {
			return true
		}
	}
	return false
}

// staysUnbounded reports whether the endless TTL of a change was still there after
// the time for a second command.
func (j leaseJudge) staysUnbounded(c *change) bool {
	until := c.t + unbounded + j.allow.machine
	changes := j.accountOf(ownerLock{"", c.lock}).changes.between(c.t, until)
	for _, next := range changes[slices.Index(changes, c)+1:] {
		if next.Node == c.Node && next.Key == c.Key && (next.holder != c.holder || next.TTL >= 0) {
			return false
		}
	}
	return j.endTime > until
}

// judgeRenewal checks that a renewal gives a whole lease, as an acquire does. Its
// client sent it after the grant or renewal before, and only a fault since then
// may have delayed it.
func (w *leaseWalk) judgeRenewal(c *change) Verdict {
	renews := c.was == w.owner && c.Count == c.WasCount && c.By == w.client[w.owner] && (c.raises() || c.TTL < c.WasTTL-w.allow.rounding)
	if !renews || len(w.holds) == 0 || w.extending(c.t) || w.openOp(c.By, c.lock, history.Acquire, c.t) != nil || w.openOp(c.By, c.lock, history.Release, c.t) != nil {
		return Verdict{Outcome: OutcomeOK}
	}
	least := int64(never)
	for _, h := range w.holds {
		if !h.o.args.Renewed {
			return Verdict{Outcome: OutcomeOK}
		}
		least = min(least, h.o.args.Lease)
	}
	outer := w.holds[0].o
	refreshed, _ := w.refreshed.get(c.group)
	disturbed := w.disturbance(max(outer.inv, refreshed), c.t, touches(c.By))
	if c.TTL >= least-2*w.allow.rounding-w.allow.underway-w.allow.machine-disturbed {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(c.t, opIDs(outer), "%s renewed the hold of %s on %s at %s for %s; a renewal promises a lease of %s",
		command(c), w.owner, c.Node, at(c.t), long(c.TTL), long(least))
}
