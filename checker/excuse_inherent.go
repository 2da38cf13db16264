package checker

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
)

// This file is the table of violations that no lock with the same claims could
// have avoided. Three facts decide: the claims of the lock, the effects of the
// faults on this hold, and the behaviour of its user. docs/expectations.md
// argues each line and names its source.
//
// A line returns the reason why a violation is inherent, or "" if it is the lock's fault.

// inherently marks a violation as inherent. With an empty reason it is the lock's fault.
func inherently(v Verdict, why string) Verdict {
	if v.Outcome == Violated && why != "" {
		v.Inherent, v.Excused = why, 1
	}
	return v
}

// careful reports whether the user stops work at the end of its hold's validity. A
// history without a kind of user has one that stops at the notice of a loss.
func (t *trace) careful() bool {
	switch t.h.Header.User {
	case history.Careful:
		return true
	case history.Careless:
		return false
	}
	return t.claims.LostSign
}

// whyOverlapInherent decides overlaps of exclusion.
func (t *trace) whyOverlapInherent(p *contradiction) string {
	switch many := t.manyQuorums() != ""; {
	case p.class == LeaseOutlived, many && p.class == "":
		return t.whyOutlivedInherent(p)
	case many:
		return ""
	}
	got, seen := t.grantOnServers(p.second)
	if !seen {
		got = p.second.From
	}
	l := t.lossOf(p.first, got)
	switch {
	case !l.lost():
	case l.unconfirmed:
	case t.toldTooLate(p.first, l, min(p.first.To, p.second.To)):
	default:
		return l.how
	}
	if p.class == "" { // no log shows whether the lease had ended
		return t.whyOutlivedInherent(p)
	}
	return ""
}

// whyOutlivedInherent decides the overlap of a holder that works on after its lease.
func (t *trace) whyOutlivedInherent(p *contradiction) string {
	a, until := p.first, min(p.first.To, p.second.To)
	due := max(p.owed, p.second.From)
	for _, f := range t.faults {
		if f.StopsProcess && f.touchesClient(a.Client) && f.from <= due && until <= plus(f.to, t.allow.healing+t.allow.machine) {
			return fmt.Sprintf("%s was stopped from %s to %s, and could not notice that its lease had ended", a.Client, at(f.from), at(f.to))
		}
	}
	if t.careful() {
		return ""
	}
	if !a.Renewed || !t.claims.Renewal {
		return fmt.Sprintf("%s worked for longer than its lease, which nobody renews", a.Owner)
	}
	for _, f := range t.faults {
		if delays(a.Client)(f) && f.from <= due && plus(f.to, t.allow.healing) >= a.From {
			return fmt.Sprintf("a fault at %s kept renewals from the servers, and %s does not heed a sign", at(f.from), a.Owner)
		}
	}
	return ""
}

// driftOf is the time by which a server's clock may run ahead during a lease, by the lock's
// belief.
func (t *trace) driftOf(lease int64) int64 {
	allowed := t.allow.rounding
	if d := t.claims.Drift; d != nil {
		allowed += d.Const + int64(d.Rate*float64(lease))
	}
	return allowed
}

// toldTooLate reports whether a holder went on after the next renewal should have found
// its hold gone, although its lock renews and notifies of losses.
func (t *trace) toldTooLate(c *Belief, l lossOfHold, until int64) bool {
	if !t.claims.LostSign || !t.claims.Renewal || !c.Renewed || l.forked || t.h.Header.User == history.Careless {
		return false
	}
	if t.closing.at(c.Client) <= plus(l.at, t.claims.RenewEvery) {
		return false // a lock that was closed renews nothing, and notices the end of the lease
	}
	bound := t.claims.RenewEvery + t.renewalSlack(c.Client, l.at) + t.allow.waitSlack
	excused := t.overlap(l.at, until, t.allow.settling, func(f *faultSpan) bool {
		return delays(c.Client)(f) && !f.only(history.Traits{DeletesKeys: f.DeletesKeys, MovesClock: f.MovesClock, ClockJump: f.ClockJump, ClockRate: f.ClockRate})
	})
	return until-l.at-excused > bound
}

// whyWriteInherent decides violations of the guarded resource. It lost an update because
// two owners held the lock inherently, and it had no token to distinguish them.
func (t *trace) whyWriteInherent(w *op) string {
	b := t.blameOf(ownerLock{w.owner, w.lock}, w.inv)
	if other := t.other[w.owner]; other != "" && !b.overlap {
		b = t.blameOf(ownerLock{other, w.lock}, w.inv) // it goes by what it read or wrote in the other mode
	}
	if b.overlap && b.why != "" {
		if l := t.lossOf(b.belief, w.inv); l.lost() && t.toldTooLate(b.belief, l, w.inv) {
			return ""
		}
	}
	if r := t.h.Header.Resource; !b.overlap || r.Fenced && r.FencesReads && t.whyTokenInherent(w.inv) == "" {
		return ""
	}
	return b.why
}

// whyTokenInherent decides violations of fencing: the servers lost the counter. A
// deleted key of a hold is not the counter.
func (t *trace) whyTokenInherent(by int64) string {
	groups := map[string]bool{}
	why := ""
	for _, f := range t.faults {
		if f.from > by || !(f.LosesWrites || f.Promotes || f.Forks) {
			continue
		}
		why = fmt.Sprintf("the servers lost the counter of the tokens in the fault at %s", at(f.from))
		for _, n := range f.nodes {
			groups[party.First(n)] = true
		}
		if len(f.nodes) == 0 {
			return why
		}
	}
	if len(groups) > t.claims.Nodes-t.claims.Quorum {
		return why
	}
	return ""
}

// whyLeaseInherent decides violations of a lease on a server: its clock moved by more
// than the lock's drift, or it replaced another server.
func (t *trace) whyLeaseInherent(c *change, lease int64) string {
	for _, f := range t.faults {
		if f.from > c.t || !f.touchesGroup(c.group) {
			continue
		}
		moved := f.ClockJump
		if f.ClockRate != 0 {
			moved = int64((f.ClockRate - 1) * float64(min(lease, c.t-f.from)))
		}
		switch {
		case f.MovesClock && (moved == 0 || max(moved, -moved) > t.driftOf(lease)):
			return fmt.Sprintf("a fault moved the clock of %s at %s", c.Node, at(f.from))
		case f.replacesServer():
			return fmt.Sprintf("a fault at %s may have rolled %s back to an older lease", at(f.from), c.Node)
		}
	}
	return ""
}

// whyHoldSetBack decides wrong counts and contradicted answers: the servers lost or undid
// a change of an owner between two times.
func (t *trace) whyHoldSetBack(k ownerLock, from, to int64) string {
	changes := t.accountOf(k).changes.between(0, to)
	had := map[[2]string]int{} // the count of the owner's hold, before a change
	for _, c := range changes {
		p, count := [2]string{c.Node, c.Key}, 0
		if c.holder == k.owner {
			count = c.Count
		}
		kept := c.Cause == "restart" && had[p] == count // it came back with its data
		if c.t >= from && c.Role == "primary" && (c.Cause == "restart" || c.Cause == "fault") && !kept {
			return fmt.Sprintf("%s lost what it had of %s at %s", c.Node, k.owner, at(c.t))
		}
		had[p] = count
	}
	for _, f := range t.faults {
		if f.from <= to && plus(f.to, t.allow.settling) >= from && (f.Promotes || f.LosesWrites) &&
			(len(changes) == 0 || slices.ContainsFunc(changes, func(c *change) bool { return f.touchesGroup(c.group) })) {
			return fmt.Sprintf("a fault at %s may have undone what the servers had confirmed to %s", at(f.from), k.owner)
		}
	}
	return ""
}
