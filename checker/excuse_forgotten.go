package checker

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// whyRevived returns the reason why a refusal may be right although the holder had released the lock, or
// a fault had deleted its hold; "" if the log does not show that. A replica did not get
// that, and answers in the place of another server.
func (t *trace) whyRevived(refused *op) string {
	if t.claims.Nodes > 1 {
		return ""
	}
	if len(t.changes) == 0 {
		return t.whyKeptUnseen(refused)
	}
	for s := range t.accountOf(ownerLock{"", refused.lock}).heldAt(refused.inv, refused.ret) {
		if !s.replica || !t.replaced(s.group, refused.ret) {
			continue
		}
		k := ownerLock{s.holder, refused.lock}
		sure := t.accountOf(k).ops.last(refused.inv, func(o *op) bool { return o.kind == history.OK })
		if sure != nil && sure.f == history.Release && sure.inv >= s.from {
			if how := t.whyHoldSetBack(k, sure.inv, refused.ret); how != "" {
				return how
			}
		}
		if slices.ContainsFunc(t.accountOf(k).changes.between(s.from, refused.inv), func(c *change) bool {
			return c.Node != s.node && c.Cause == "fault" && c.was == s.holder && c.ends()
		}) {
			return fmt.Sprintf("%s, which answers in the place of another server, still had the hold of %s", s.node, s.holder)
		}
	}
	return ""
}

// whyKeptUnseen is whyRevived without a server log: until a lease after a promotion.
func (t *trace) whyKeptUnseen(refused *op) string {
	for _, f := range t.faults {
		if f.Promotes && f.from <= refused.ret && refused.inv <= plus(f.from, t.leaseOf(refused)) {
			return fmt.Sprintf("the server that was promoted at %s may never have heard of the end of a hold", at(f.from))
		}
	}
	return ""
}

// whyUndone returns the reason why a server that replaced another has a hold that had been released; ""
// if none has it.
func (t *trace) whyUndone(release *op) string {
	until := plus(release.ret, t.allow.settling)
	if !release.own.anyHeld(release.ret+1, until, func(s *span) bool {
		return !s.replica && s.from < release.ret || s.replica && t.replaced(s.group, until)
	}) {
		return ""
	}
	return t.whyHoldSetBack(ownerLock{release.owner, release.lock}, release.inv, until)
}

// whyForgotten returns the reason why a server had lost its record of a release when
// the client repeated it, or "".
func (t *trace) whyForgotten(release *op) string {
	done := int64(never)
	node, group := "", ""
	for _, c := range release.own.changes.between(release.inv, release.ret) {
		if t.commandOf(c, release) && c.givesBack(release.owner) {
			done, node, group = c.t, c.Node, c.group
		}
	}
	for _, f := range t.faults {
		if f.from < done || f.from > release.ret || !f.touchesGroup(group) {
			continue
		}
		lost := f.LosesWrites && !f.Promotes
		if f.Promotes { // a replica that has seen the release has its record as well
			seen := slices.ContainsFunc(release.own.changes.between(done, f.from), func(c *change) bool {
				return c.group == group && c.Node != node && c.givesBack(release.owner)
			})
			lost = !seen || release.own.anyHeld(f.from, f.from, func(s *span) bool { return s.group == group && s.node != node })
		}
		if lost {
			return fmt.Sprintf("%s carried out the release of %s at %s, and the fault at %s made the servers forget it", node, release.owner, at(done), at(f.from))
		}
	}
	return ""
}

// whyUnheardOf returns the reason why a server knew of no hold when its owner released it,
// or "". It is one of two servers that both answer, and the other one has the hold.
func (t *trace) whyUnheardOf(release *op) string {
	if t.claims.Nodes > 1 || !release.own.anyHeld(release.ret, release.ret, anyServer) {
		return ""
	}
	for _, f := range t.faults {
		if !f.Forks || f.from > release.ret || f.forgotUntil() < release.inv {
			continue
		}
		for _, node := range append([]string{f.promoted}, f.nodes...) {
			has := func(s *span) bool { return s.node == node }
			if node != "" && !release.own.anyHeld(max(f.from, release.inv), release.ret, has) {
				return fmt.Sprintf("%s, one of two servers that answered after the fault at %s, did not have the hold", node, at(f.from))
			}
		}
	}
	return ""
}

// whyServedAgain returns the reason why a server handed the lock to an owner that had had its
// turn, or "". The server took the place of another one, and had not heard of that turn.
func (t *trace) whyServedAgain(k ownerLock, c *change) string {
	if !t.claims.Fairness || !t.handsOver(c) || !t.replaced(c.group, c.t) || t.accountOf(k).ops.last(c.t, isAcquire) == nil {
		return ""
	}
	return fmt.Sprintf("%s, which answers in the place of another server, never heard that %s had had its turn", c.Node, k.owner)
}

// remembered is the time for which servers must remember that an owner gave a request up.
// It is ten times as long as go-redis waits for an answer. No server remembers it for
// ever.
const remembered = 30 * second

// whyRequestForgotten returns the reason why a server carried out a request that its
// owner had given up, or "". A fault delayed the request for too long, or the servers
// meanwhile lost the record that the owner had left. Or the owner left it with another
// server of a fork.
func (t *trace) whyRequestForgotten(k ownerLock, c *change) string {
	since := t.heldBack(t.client[k.owner], c.group, c.t)
	ops := &t.accountOf(k).ops
	if o := ops.last(c.t, isAcquire); o != nil && since <= o.ret && o.ret < c.t-remembered {
		return fmt.Sprintf("a fault kept a request of %s back until %s, for %s after its acquire had ended", o.owner, at(c.t), long(c.t-o.ret))
	}
	for _, o := range ops.all[:ops.latest(c.t)+1] {
		if o.f != history.Acquire || o.ret < since {
			continue
		}
		if t.forkedBy(c.group, c.t) && slices.ContainsFunc(t.accountOf(k).changes.between(o.inv, c.t), func(d *change) bool {
			return d.command() && d.holder == k.owner && d.group == c.group && d.Node != c.Node
		}) {
			return fmt.Sprintf("a fault kept a request of %s back until %s, and %s never heard of what another server had carried out since", o.owner, at(c.t), c.Node)
		}
		for _, f := range t.faults {
			if f.from > o.ret && f.from < c.t && (f.DeletesKeys || f.LosesWrites || f.Promotes) && f.touchesGroup(c.group) {
				return fmt.Sprintf("a fault kept a request of %s back until %s, and the fault at %s took what the servers knew of it", o.owner, at(c.t), at(f.from))
			}
		}
	}
	return ""
}

// whyLeftBehind returns the reason why a server granted the lock to a client that was gone,
// or "". A fault kept a request back since before the client died or closed its lock. The
// request took the lock, or a place that got it. No other client could take it back.
func (t *trace) whyLeftBehind(k ownerLock, c *change) string {
	client := t.client[k.owner]
	gone := min(t.closing.at(client), t.crashed.at(client))
	last := t.accountOf(k).ops.last(gone, isAcquire)
	if gone >= c.t || last == nil || !c.grants() {
		return ""
	}
	lasts := t.allow.underway
	if t.handsOver(c) {
		lasts = plus(lasts, t.leaseOf(last))
	}
	for _, f := range t.faults {
		if f.from <= gone && f.to >= gone && f.to <= c.t && c.t <= plus(f.to, lasts) && f.holdsMessages() && !f.sparesRequests() && f.touchesLink(client, c.group) {
			return fmt.Sprintf("a fault kept a request of %s back until %s, and %s was gone since %s", k.owner, at(f.to), client, at(gone))
		}
	}
	return ""
}

// whyKeptByTheGone returns the reason why a refusal may be right although no owner had the
// lock, or "". A request of a client that was gone had it; see whyLeftBehind.
func (t *trace) whyKeptByTheGone(refused *op) string {
	for s := range t.accountOf(ownerLock{"", refused.lock}).heldAt(refused.inv, refused.ret) {
		k := ownerLock{s.holder, refused.lock}
		for _, c := range t.accountOf(k).changes.between(s.from, s.from) {
			if why := t.whyLeftBehind(k, c); why != "" {
				return why
			}
		}
	}
	return ""
}
