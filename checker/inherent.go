package checker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// This file is the table of violations that no lock with the same claims could
// have avoided. Three facts decide: the claims of the lock, the effects of the
// faults on this hold, and the behaviour of its user. docs/expectations.md
// argues each line and names its source.
//
// A line returns the reason why a violation is inherent, or "" if it is the
// lock's fault.

// inherently marks a violation as inherent. With an empty reason it is the lock's
// fault.
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

// inherentOverlap decides overlaps of exclusion.
func (t *trace) inherentOverlap(p *overlapOf) string {
	if t.claims.Nodes > 1 && 2*t.claims.Quorum <= t.claims.Nodes {
		return "" // two owners can have such a quorum at once
	}
	if p.class == LeaseOutlived {
		return t.inherentlyOutlived(p)
	}
	got, seen := t.arrival(p.b)
	if !seen {
		got = p.b.From
	}
	l := t.lossOf(p.a, got)
	switch {
	case !l.lost():
	case l.unconfirmed:
	case t.toldTooLate(p.a, l, min(p.a.To, p.b.To)):
	default:
		return l.how
	}
	if p.class == "" { // no log shows whether the lease had ended
		return t.inherentlyOutlived(p)
	}
	return ""
}

// inherentlyOutlived decides the overlap of a holder that works on after its
// lease.
func (t *trace) inherentlyOutlived(p *overlapOf) string {
	a, until := p.a, min(p.a.To, p.b.To)
	due := max(p.owed, p.b.From)
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

// lossOfHold describes how the granting servers lost a hold, without the lock's
// doing.
type lossOfHold struct {
	groups, needed int    // that lost it, and that had to for another owner to be granted
	at             int64  // when so many of them had
	unconfirmed    bool   // fewer replicas had it than the lock promises to wait for
	forked         bool   // the server that its client talks to may still have it
	how            string // in words
}

// notLost is the loss of a hold that the servers kept.
var notLost = lossOfHold{needed: 1}

// lost reports whether so many servers lost the hold that another owner could get it.
func (l lossOfHold) lost() bool { return l.groups >= l.needed }

// lossOf finds the servers that had lost a belief when another one was granted.
// Such a server forgot the belief, gave way to a server without it, or ended its
// lease early by its clock. A group counts once.
func (t *trace) lossOf(c *Belief, by int64) lossOfHold {
	if when, how := t.endOfSession(c, by); how != "" {
		return lossOfHold{groups: 1, needed: 1, at: when, how: how}
	}
	if len(t.changes) == 0 {
		return t.lossByTraits(t.op(c.AcquireOp).inv, by)
	}
	l := losing{trace: t, c: c, o: t.op(c.AcquireOp), on: map[string]copyOfHold{}, granted: map[string]bool{}, lost: map[string]int64{}}
	for _, s := range l.o.own.changes.between(l.o.inv, by) {
		l.follow(s)
	}
	for _, s := range t.account(ownerLock{"", c.Lock}).changes.between(l.o.inv, by) {
		if s.command() && s.holder != c.Owner && l.granted[s.group] && (s.grants() || t.grantsAgain(s)) {
			l.grantedAnother(s)
		}
	}
	l.groups, l.needed = len(l.lost), max(1, len(l.granted)-(t.claims.Nodes-t.claims.Quorum))
	if when := slices.Sorted(maps.Values(l.lost)); len(when) > 0 {
		l.at = when[min(l.needed, len(when))-1]
	}
	for group := range l.lost {
		if t.claims.Acks > 0 && t.confirmed(group, l.o) < t.claims.Acks {
			l.unconfirmed = true
		}
	}
	return l.lossOfHold
}

// losing is the work of lossOf.
type losing struct {
	*trace
	lossOfHold
	c       *Belief
	o       *op                   // its acquire
	on      map[string]copyOfHold // by server
	granted map[string]bool       // groups
	lost    map[string]int64      // groups, with the time
}

// copyOfHold is a hold on one server.
type copyOfHold struct {
	due   int64  // when it was to end, by its last change
	ended string // the cause of its end; empty while the server has it
}

// lose notes the first loss of a group that granted the hold.
func (l *losing) lose(group string, when int64, format string, args ...any) {
	if _, known := l.lost[group]; known || !l.granted[group] {
		return
	}
	l.lost[group] = when
	if l.how == "" {
		l.how = fmt.Sprintf(format, args...)
	}
}

// follow follows a change of the hold.
func (l *losing) follow(s *change) {
	if s.holder == l.c.Owner {
		if s.command() {
			l.granted[s.group] = true
			if s.grants() {
				delete(l.lost, s.group)
			}
		}
		due := s.expires()
		if had, known := l.on[s.Node]; known && had.ended == "" && (s.Cause == "restart" || s.keepsLease(l.allow.rounding)) {
			due = had.due // the server's clock has no part in it
		}
		l.on[s.Node] = copyOfHold{due: due}
		return
	}
	before, known := l.on[s.Node]
	l.on[s.Node] = copyOfHold{ended: s.Cause}
	switch {
	case s.Role != "primary" && s.Cause != "command":
		l.on[s.Node] = copyOfHold{ended: "replication"} // the hold lives on where clients ask
	case s.takesBack(l.o):
		delete(l.granted, s.group)
	case !known || before.ended != "" || s.was != l.c.Owner:
	case s.Cause == "fault":
		l.lose(s.group, s.t, "the hold was deleted from %s at %s, from outside", s.Node, at(s.t))
	case s.Cause == "restart":
		l.lose(s.group, s.t, "%s came back without the hold at %s", s.Node, at(s.t))
	case s.Cause == "expiry" && before.due-s.t > l.drift(l.c.Lease) && l.clockFault(s.group, s.t):
		l.lose(s.group, s.t, "the clock of %s ended the lease %s early, at %s", s.Node, long(before.due-s.t), at(s.t))
	}
}

// grantsAgain reports whether a server granted the lock to an owner whose earlier hold it
// still had. It took the place of another server, which had carried out the release.
func (t *trace) grantsAgain(s *change) bool {
	if s.holder == "" || s.holder != s.was || !t.replaced(s.group, s.t) {
		return false
	}
	k := ownerLock{s.holder, s.lock}
	ops := &t.account(k).ops
	asked := ops.last(s.t, isAcquire)
	if asked == nil || asked.ret < s.t {
		return false
	}
	before := ops.last(asked.inv, func(o *op) bool { return o != asked && knows(o) })
	return before != nil && before.f == history.Release && before.res.Count == 0
}

// grantedAnother finds out whether a server granted the lock to another owner because
// it replaces the server that had the hold.
func (l *losing) grantedAnother(s *change) {
	hold, has := l.on[s.Node]
	expired := hold.ended == "expiry" || has && hold.ended == "" && hold.due <= s.t
	switch {
	case (!has || hold.ended == "replication") && l.replaced(s.group, s.t) && l.ownedElsewhere(ownerLock{l.c.Owner, l.c.Lock}, s):
		l.lose(s.group, s.t, "%s, which answers in the place of another server, did not have the hold when it was asked at %s", s.Node, at(s.t))
		l.forked = l.forked || l.forkedBy(s.group, s.t)
	case expired && l.forkedBy(s.group, s.t) && livesElsewhere(l.o.own, s):
		l.lose(s.group, s.t, "another server took the place of %s and renewed the hold, and %s did not hear of that when it was asked at %s", s.Node, s.Node, at(s.t))
		l.forked = true
	}
}

// leftBehind describes the loss of a hold on a server that gave way to one without
// the hold, by a time. groups is 0 if there was none.
func (t *trace) leftBehind(c *Belief, by int64) (l lossOfHold) {
	if t.claims.Nodes > 1 || len(t.changes) == 0 {
		return l
	}
	own := t.op(c.AcquireOp).own
	for _, s := range own.changes.from(t.op(c.AcquireOp).inv) {
		if s.t > by || s.holder == c.Owner && l.groups > 0 {
			break
		}
		if !s.command() || s.holder != c.Owner {
			continue
		}
		for _, f := range t.faults {
			if !f.Promotes || f.from < s.t || f.from > by || !slices.Contains(f.nodes, s.Node) {
				continue
			}
			if !own.anyHeld(s.t, by, func(o *span) bool {
				return o.node != s.Node && o.group == s.group && o.to > f.from && !dropped(own, o)
			}) {
				l = lossOfHold{groups: 1, needed: 1, at: f.from, forked: f.Forks,
					how: fmt.Sprintf("another server took the place of %s at %s, and never had the hold", s.Node, at(f.from))}
				break
			}
		}
	}
	return l
}

// dropped reports whether a replica's hold ended because its primary had none.
func dropped(own *account, o *span) bool {
	for _, c := range own.changes.between(o.to, o.to) {
		if c.Node == o.node && c.Role == "replica" && c.Cause == "replication" && c.ends() {
			return true
		}
	}
	return false
}

// drift is how far a server's clock may run ahead during a lease, by the lock's
// belief.
func (t *trace) drift(lease int64) int64 {
	allowed := t.allow.rounding
	if d := t.claims.Drift; d != nil {
		allowed += d.Const + int64(d.Rate*float64(lease))
	}
	return allowed
}

// ownedElsewhere reports whether another server of a change's group had granted a
// hold.
func (t *trace) ownedElsewhere(k ownerLock, s *change) bool {
	return slices.ContainsFunc(t.account(k).changes.between(0, s.t), func(c *change) bool {
		return c.command() && c.holder == k.owner && c.group == s.group && c.Node != s.Node
	})
}

// livesElsewhere reports whether another server of a change's group that answers
// clients has the hold of an owner at that time.
func livesElsewhere(own *account, s *change) bool {
	return own.anyHeld(s.t, s.t, func(o *span) bool { return o.group == s.group && o.node != s.Node && !o.replica && o.led <= s.t })
}

// confirmed counts the replicas of a group that got a hold before its acquire
// returned. A fault may have removed it since.
func (t *trace) confirmed(group string, o *op) int {
	var nodes []string
	for s := range o.own.heldAt(o.inv, o.ret) {
		if s.group == group && s.node != group && !slices.Contains(nodes, s.node) {
			nodes = append(nodes, s.node)
		}
	}
	return len(nodes)
}

// lossByTraits is lossOf without a server log, for a hold that was requested at since.
// It counts every group that a fault with the power to lose the hold has struck.
func (t *trace) lossByTraits(since, by int64) lossOfHold {
	l := lossOfHold{needed: max(1, 2*t.claims.Quorum-t.claims.Nodes)}
	groups := map[string]bool{}
	for _, f := range t.faults {
		if f.from > by || f.forgotUntil() < since || !(f.LosesWrites || f.Promotes || f.Forks || f.DeletesKeys || f.MovesClock || f.StopsNode) {
			continue
		}
		l.at, l.forked = max(l.at, f.from), l.forked || f.Forks
		l.how = fmt.Sprintf("a fault at %s may have cost the servers the hold", at(f.from))
		for _, n := range f.nodes {
			groups[groupOf(n)] = true
		}
		if len(f.nodes) == 0 {
			l.groups = t.claims.Nodes
		}
	}
	l.groups = max(l.groups, len(groups))
	return l
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
	excused := t.overlap(l.at, until, t.allow.settling, func(f *faultSpan) bool { return delays(c.Client)(f) && !f.onlyForgets() })
	return until-l.at-excused > bound
}

// forgotUntil is when a fault no longer took data from servers. Servers may take each
// other's place for a while after a promotion. Two of them may answer until the fault is
// over, and for ever if nothing ends it.
func (s *faultSpan) forgotUntil() int64 {
	switch {
	case s.Forks && !s.lasted:
		return never
	case s.lasted || s.Promotes:
		return s.to
	}
	return s.from
}

// onlyForgets reports whether a fault has only lost data of servers.
func (s *faultSpan) onlyForgets() bool {
	return s.only(history.Traits{DeletesKeys: s.DeletesKeys, MovesClock: s.MovesClock, ClockJump: s.ClockJump, ClockRate: s.ClockRate})
}

// inherentWrite decides violations of the guarded resource. It lost an update because
// two owners held the lock inherently, and it had no token to distinguish them.
func (t *trace) inherentWrite(w *op) string {
	b := t.blameOf(ownerLock{w.owner, w.lock}, w.inv)
	if b.overlap && b.why != "" {
		if l := t.lossOf(b.belief, w.inv); l.lost() && t.toldTooLate(b.belief, l, w.inv) {
			return ""
		}
	}
	if r := t.h.Header.Resource; !b.overlap || r.Fenced && r.FencesReads && t.inherentToken(w.inv) == "" {
		return ""
	}
	return b.why
}

// inherentToken decides violations of fencing: the servers lost the counter. A
// deleted key of a hold is not the counter.
func (t *trace) inherentToken(by int64) string {
	groups := map[string]bool{}
	why := ""
	for _, f := range t.faults {
		if f.from > by || !(f.LosesWrites || f.Promotes || f.Forks) {
			continue
		}
		why = fmt.Sprintf("the servers lost the counter of the tokens in the fault at %s", at(f.from))
		for _, n := range f.nodes {
			groups[groupOf(n)] = true
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

// inherentLease decides violations of a lease on a server: its clock moved by more
// than the lock's drift, or it replaced another server.
func (t *trace) inherentLease(c *change, lease int64) string {
	for _, f := range t.faults {
		if f.from > c.t || !f.touchesGroup(c.group) {
			continue
		}
		moved := f.ClockJump
		if f.ClockRate != 0 {
			moved = int64((f.ClockRate - 1) * float64(min(lease, c.t-f.from)))
		}
		switch {
		case f.MovesClock && (moved == 0 || max(moved, -moved) > t.drift(lease)):
			return fmt.Sprintf("a fault moved the clock of %s at %s", c.Node, at(f.from))
		case f.replacesServer():
			return fmt.Sprintf("a fault at %s may have rolled %s back to an older lease", at(f.from), c.Node)
		}
	}
	return ""
}

// setBack decides wrong counts and contradicted answers: the servers lost or undid
// a change of an owner between two times.
func (t *trace) setBack(k ownerLock, from, to int64) string {
	type place struct{ node, key string }
	had := map[place]int{} // the count of the owner's hold, before a change
	for _, c := range t.account(k).changes.between(0, to) {
		p, count := place{c.Node, c.Key}, 0
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
		if f.from <= to && plus(f.to, t.allow.settling) >= from && (f.Promotes || f.LosesWrites) {
			return fmt.Sprintf("a fault at %s may have undone what the servers had confirmed to %s", at(f.from), k.owner)
		}
	}
	return ""
}

// inherentSilence decides violations of progress and leftover keys. Without a
// lease nothing ends the hold of a dead owner, or of one whose release never
// reached a server. A session ends both, once servers can notice its end.
func (t *trace) inherentSilence(lock string, by int64) string {
	if t.claims.Lease || t.claims.Session > 0 && !t.unheardEnd(by) {
		return ""
	}
	for _, o := range t.byLock[lock] {
		if o.inv > by {
			break
		}
		when, crashed := t.crashed[o.client]
		switch {
		case crashed && when <= by && (o.granted() || o.open()):
			if !t.gaveBackBy(o, when) {
				return fmt.Sprintf("%s died at %s with the lock, which has no lease", o.client, at(when))
			}
		case o.f == history.Release && o.kind == history.Info && t.mayEndUnknown(o):
			return fmt.Sprintf("the release of %s got lost at %s, and the lock has no lease", o.owner, at(o.ret))
		}
	}
	return ""
}

// unheardEnd reports whether a fault may have hidden the end of a connection from the
// servers. Then they could not end its session by that time.
func (t *trace) unheardEnd(by int64) bool {
	return slices.ContainsFunc(t.faults, func(f *faultSpan) bool {
		return f.from <= by && f.holdsMessages() && plus(f.to, t.claims.Session+t.allow.settling) >= by
	})
}

// gaveBackBy reports whether an owner had released its hold by a time.
func (t *trace) gaveBackBy(o *op, by int64) bool {
	return slices.ContainsFunc(o.own.ops.all, func(r *op) bool {
		return r.f == history.Release && r.kind == history.OK && r.inv >= o.inv && r.ret <= by
	})
}

// singleTry is the wait of an acquire that is not to wait, if its lock has no
// single try.
const singleTry = 50 * millisecond

// keptBy reports whether a release gave nothing back, neither before it returned nor
// in the time that a request needs after it. It is false if the owner requested more
// in that time, or for several servers.
func (t *trace) keptBy(release *op) bool {
	if release.f != history.Release || t.claims.Nodes > 1 {
		return false
	}
	until := plus(release.ret, t.allow.takingBack)
	if until >= t.endTime || t.untilNext(release) < until {
		return false
	}
	for _, c := range release.own.changes.between(release.inv, until) {
		if c.givesBack(release.owner) {
			return false
		}
	}
	return release.own.anyHeld(until, until, func(s *span) bool { return !s.replica && s.from < release.inv })
}

// negligible bounds a latency that the header leaves out.
const negligible = millisecond

// mayEndUnknown decides unknown outcomes. Such an outcome is right if a fault held the
// request or its reply, stopped the server or the process, or cancelled the operation.
// It is also right if an acquire's time ended before a slow server could answer. A
// cancelled release that never gave the hold back has no excuse: no other owner could.
// Nor has a release if enough of several servers had the hold, and were in reach.
func (t *trace) mayEndUnknown(o *op) bool {
	to := min(o.ret, t.endTime)
	if o.f == history.Acquire {
		over := o.ret - (o.inv + o.args.Wait)
		if o.args.Wait == 0 && over >= singleTry {
			over -= singleTry
		}
		if over < messagesOfRequest*min(max(t.h.Header.Latency, negligible), second) {
			return true
		}
	}
	if t.closing.at(o.client) <= to {
		return true
	}
	excuses := func(f *faultSpan) bool {
		if f.from > to || !f.touchesClient(o.client) {
			return false
		}
		until := plus(f.to, t.allow.settling)
		if f.BreaksConnections || f.StopsNode || f.Promotes {
			until = never // a connection is found broken when it is next used
		}
		return until >= o.inv && (f.holdsMessages() || f.LosesReplies || f.BreaksConnections || f.Refuses || f.StopsNode || f.Promotes ||
			f.StopsProcess || f.EndsProcess || f.Cancels && !t.keptBy(o) || f.HoldsReplication || f.Forks || f.HoldsSubscriptions)
	}
	if !slices.ContainsFunc(t.faults, excuses) {
		return false
	}
	lost := func(s *span) bool { // before the request arrived
		return s.to <= o.inv || slices.ContainsFunc(o.own.changes.between(o.inv, o.ret), func(c *change) bool {
			return c.group == s.group && c.was == o.owner && c.ends() && !c.command()
		})
	}
	return o.f != history.Release || t.claims.Nodes == 1 || t.groupsHolding(o.lock, o.owner, o.inv, o.inv, func(s *span) bool {
		return !s.replica && !lost(s) && !slices.ContainsFunc(t.faults, func(f *faultSpan) bool { return excuses(f) && f.touchesLink(o.client, s.group) })
	}) < t.claims.Quorum
}
