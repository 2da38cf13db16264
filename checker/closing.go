package checker

import (
	"slices"
)

// closingSlack is how long the requests of a lock may still arrive after its
// close.
const closingSlack = 100 * millisecond

// mayBeClosing reports whether a client may have been closing its lock handle at a time.
// A client that did not note the beginning of its close may have begun after its last
// grant.
func (t *trace) mayBeClosing(client string, when int64) bool {
	closed := t.closed.at(client)
	if began := t.closing.at(client); began < closed {
		return began <= when
	}
	return closed != never && !slices.ContainsFunc(t.ops, func(o *op) bool {
		return o.client == client && o.granted() && o.ret > when && o.ret <= closed
	})
}

// endsWithClose checks that an acquire returns soon and without a grant after its
// client closed the lock.
func (t *trace) endsWithClose(o *op) Verdict {
	closed := t.closed.at(o.client)
	if closed == never || o.inv > closed || o.ret <= plus(closed, t.allow.waitSlack) {
		return Verdict{Outcome: OutcomeOK}
	}
	end := t.waitEnd(o)
	excused := t.overlap(closed, end, t.allow.healing, touches(o.client))
	if end-closed-excused <= t.allow.waitSlack {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(closed+t.allow.waitSlack, opIDs(o), "%s closed its lock at %s; the acquire of %s, begun at %s, went on for %s",
		o.client, at(closed), o.owner, at(o.inv), long(end-closed))
}

// silentWhenClosed checks that a client renews nothing after it closed its lock.
func (t *trace) silentWhenClosed(k ownerLock) Verdict {
	client := t.client[k.owner]
	closed := t.closed.at(client)
	if closed == never {
		return Verdict{Outcome: OutcomeOK}
	}
	for _, c := range t.account(k).changes.from(closed + closingSlack + t.allow.machine) {
		if c.command() && c.By == client && c.holder == k.owner && c.raises() {
			return violation(c.t, opIDs(t.grantOf(k.owner, k.lock, c.t)), "%s renewed the hold of %s on %s at %s, after it had closed its lock at %s",
				client, k.owner, c.Node, at(c.t), at(closed))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}
