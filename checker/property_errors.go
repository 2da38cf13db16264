package checker

import (
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Errors: Every outcome has one error class, the documented one.
const Errors Property = "errors"

var errorsProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Errors, Promise: "Every outcome has one error class, the documented one.",
		Broken: "an outcome is reported as another one",
	},
	harm:  always(wrongAnswer),
	judge: plainly(func(t *trace) Verdict { return errorsJudge{t}.judge() }),
}

// documented lists the allowed error classes for each outcome of an operation.
var documented = map[history.Func]map[history.Kind][]string{
	history.Acquire: {history.Fail: {history.ErrBusy, history.ErrCanceled, history.ErrAcks, history.ErrRefused}, history.Info: {history.ErrUnknown}},
	history.Release: {history.Fail: {history.ErrNotHeld, history.ErrLost}, history.Info: {history.ErrUnknown, history.ErrCanceled}},
	history.Extend:  {history.Fail: {history.ErrNotHeld, history.ErrLost, history.ErrRefused, history.ErrCanceled}, history.Info: {history.ErrUnknown, history.ErrCanceled}},
}

type errorsJudge struct{ *trace }

// judge checks that every failure has a documented class, and that neither
// the server log nor a notice of loss contradicts it.
func (j errorsJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for _, o := range j.ops {
		v = earlier(v, j.classOf(o))
		if len(j.changes) > 0 {
			v = earlier(v, j.judgeAnswer(o))
			v = earlier(v, j.hadNoEffect(o))
		}
	}
	for _, n := range j.notes {
		v = earlier(v, j.judgeNotice(n))
	}
	for i := range j.beliefs {
		v = earlier(v, j.judgeLostGrant(&j.beliefs[i]))
	}
	return v
}

// refusedAsClosed reports whether a release failed because its client was closing
// the lock: the hold then ends with its lease, as intended.
func (j errorsJudge) refusedAsClosed(o *op) bool {
	return o.f == history.Release && o.failed(history.ErrCanceled) && (o.ret >= j.closing.at(o.client) || o.ret == o.inv && j.mayBeClosing(o.client, o.ret))
}

func (j errorsJudge) classOf(o *op) Verdict {
	if o.kind != history.Fail && o.kind != history.Info || j.refusedAsClosed(o) {
		return Verdict{Outcome: OutcomeOK}
	}
	class := o.res.Error
	allowed, listed := documented[o.f][o.kind]
	right := class != history.ErrOther && class != "" && !listed
	for _, a := range allowed {
		right = right || a == class
	}
	if o.f == history.Acquire && o.kind == history.Fail && class == history.ErrLost {
		right = o.args.Self != "" || j.claims.Reentrant && j.hadHold(o) // there was something to lose
	}
	if o.f == history.Release && o.kind == history.Fail && class == history.ErrLost && !j.hadHold(o) {
		return violation(o.ret, opIDs(o), "the release of %s reported a loss at %s; its owner held nothing", o.owner, at(o.ret))
	}
	if right && class == history.ErrUnknown && o.own != nil && j.h.Header.Order == history.TotalOrder && !j.mayEndUnknown(o) && j.keptBy(o) && j.wasCancelled(o) {
		return byServers(violation(o.ret, opIDs(o), "the release of %s ended at %s with an unknown outcome because the context of its caller had ended: nobody gave the hold back", o.owner, at(o.ret)))
	}
	if right && (class == history.ErrUnknown || class == history.ErrRefused) && o.own != nil && j.h.Header.Order == history.TotalOrder && !j.mayEndUnknown(o) {
		although := "nothing was wrong"
		if j.claims.Nodes > 1 {
			although = "enough servers were in reach"
		}
		if class == history.ErrRefused {
			return violation(o.ret, opIDs(o), "the %s of %s was refused at %s, although %s: %s", o.f, o.owner, at(o.ret), although, o.res.Message)
		}
		return violation(o.ret, opIDs(o), "the %s of %s ended at %s with an unknown outcome, although %s", o.f, o.owner, at(o.ret), although)
	}
	if right && class == history.ErrCanceled && o.f == history.Acquire && o.kind == history.Fail && j.gaveUpByItself(o) {
		return violation(o.ret, opIDs(o), "the acquire of %s was to wait %s from %s on and gave up at %s with a context that ended; nobody had cancelled it",
			o.owner, long(o.args.Wait), at(o.inv), at(o.ret))
	}
	if right {
		return Verdict{Outcome: OutcomeOK}
	}
	if o.f == history.Release && class == history.ErrCanceled {
		why := "because the context of its caller had ended"
		if j.h.Header.Order == history.TotalOrder && !j.wasCancelled(o) {
			why = "as if the context of its caller had ended, which it had not"
		}
		if !slices.ContainsFunc(o.own.changes.between(o.inv, o.ret), func(c *change) bool { return c.givesBack(o.owner) }) {
			why += ": nobody gave the hold back"
		}
		return violation(o.ret, opIDs(o), "the release of %s was given up at %s %s", o.owner, at(o.ret), why)
	}
	said := ""
	if o.res.Message != "" {
		said = ": " + o.res.Message
	}
	if class == history.ErrOther {
		said += "; name the errors of the lock in Busy, NotHeld, Lost or Classify of locktest.Lock, or in the answers of its adapter"
	}
	what := "failed"
	if o.kind == history.Info {
		what = "ended unclear"
	}
	return violation(o.ret, opIDs(o), "the %s of %s %s at %s with the class %q, which is not documented for it%s", o.f, o.owner, what, at(o.ret), class, said)
}

// wasCancelled reports whether a fault ended the context of an operation.
func (j errorsJudge) wasCancelled(o *op) bool {
	return slices.ContainsFunc(j.faults, func(f *faultSpan) bool {
		return f.Cancels && f.touchesClient(o.client) && f.from <= o.ret && plus(f.to, j.allow.settling) >= o.inv
	})
}

// gaveUpByItself reports whether an acquire ended long before the end of its wait with
// a context error, although no fault had ended its context.
func (j errorsJudge) gaveUpByItself(o *op) bool {
	return j.h.Header.Order == history.TotalOrder && o.args.Wait > 0 && o.inv+o.args.Wait-o.ret > j.allow.waitSlack && !j.mayBeClosing(o.client, o.ret) &&
		!slices.ContainsFunc(j.faults, func(f *faultSpan) bool { return f.Cancels && f.from <= o.ret && j.calledBy(o, f.from) })
}

// calledBy reports whether an operation may have been called by then. If its
// process was stopped at the call, the recorded time is when the process went on.
func (j errorsJudge) calledBy(o *op, when int64) bool {
	return o.inv <= when || slices.ContainsFunc(j.faults, func(f *faultSpan) bool {
		return f.StopsProcess && f.touchesClient(o.client) && f.from <= when && f.to >= o.inv
	})
}

// hadNoEffect checks that a successful release has ended the hold. When it
// returns, the servers without the hold must suffice for another owner: on a
// single server no hold may remain, under any fault. Later no server at all may
// have it, once no fault blocks the request.
func (j errorsJudge) hadNoEffect(o *op) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	if o.f != history.Release || o.kind != history.OK || o.res.Count > 0 {
		return v
	}
	k := ownerLock{o.owner, o.lock}
	again := o.nextInv()
	if again <= o.ret || j.unclearPermits(o.own, o.inv) > 0 {
		return v
	}
	kept := map[string]bool{} // groups that have the hold when the release returns
	tell := func(s *span, until int64) {
		x := byServers(violation(o.ret, opIDs(o, j.grantOf(o.owner, o.lock, o.inv)),
			"the release of %s succeeded at %s; %s held the lock for it until %s", o.owner, at(o.ret), s.node, at(until)))
		v = earlier(v, inherently(x, j.whyHoldSetBack(k, o.inv, until)))
	}
	for s := range o.own.heldAt(o.ret, o.ret) {
		if s.replica || s.led > o.ret || s.since >= o.inv || s.to <= o.ret+j.allow.rounding || !j.stillAnswers(s.group, 0, o.ret) {
			continue
		}
		left := j.notReleased(o, s)
		if left && !j.claims.TakesBack {
			continue
		}
		orphan := j.orphanUntil(o, s)
		if orphan <= o.ret && !left {
			if kept[s.group] = true; len(kept) > j.claims.Nodes-j.claims.Quorum {
				tell(s, min(s.to, again, j.endTime))
			}
		}
		if j.claims.Nodes == 1 && !left || j.replaced(s.group, o.ret) || j.mayBeUnheard(o, s) || j.keptAway(o, s) {
			continue
		}
		if maker := o.own.ops.last(s.from, isAcquire); maker != nil && j.ofEarlyRound(maker, s) {
			continue
		}
		from := o.ret
		for _, f := range j.faults {
			if !f.sparesPrimary() && f.from <= s.to && (f.touchesClient(o.client) || f.touchesGroup(s.group)) {
				from = max(from, plus(f.to, j.allow.settling))
			}
		}
		from = max(plus(from, j.allow.takingBack), orphan)
		if until := min(s.to, again, j.endTime); until > from {
			tell(s, until)
		}
	}
	return v
}

// keptAway reports whether a fault blocked the first release after a hold from one of
// several servers. If it did so for long, a lock need not try any more. A lock that does
// not claim to take acquires back need not try again at all. A fault may have broken the
// connection of its request long before.
func (j errorsJudge) keptAway(release *op, s *span) bool {
	var tries int64
	if j.claims.TakesBack {
		tries = j.allow.takenBackLater
	}
	own := &release.own.ops
	first := release
	for _, o := range own.all[max(0, own.latest(s.from)):] {
		if o.n >= release.n {
			break
		}
		if o.f == history.Release && o.kind == history.OK && o.res.Count == 0 && o.ret > s.from {
			first = o
			break
		}
	}
	return j.claims.Nodes > 1 && slices.ContainsFunc(j.faults, func(f *faultSpan) bool {
		if f.from > first.ret || !f.touchesLink(release.client, s.group) {
			return false
		}
		return f.BreaksConnections && tries == 0 ||
			plus(first.inv, tries) < f.to && (f.holdsMessages() || f.LosesReplies || f.BreaksConnections || f.Refuses)
	})
}

// mayBeUnheard reports whether a hold on one of several servers may come from an attempt
// whose request or reply a fault blocked. A lock with a new value for every attempt does
// not know that hold. It must end the hold only if it claims to take acquires back.
func (j errorsJudge) mayBeUnheard(release *op, s *span) bool {
	return j.claims.Nodes > 1 && !j.claims.TakesBack && slices.ContainsFunc(j.faults, func(f *faultSpan) bool {
		return (f.keepsReplies() || f.HoldsRequests) && f.from <= s.from+j.allow.underway && s.from <= plus(f.to, j.allow.healing) && f.touchesLink(release.client, s.group)
	})
}

// notReleased reports whether a hold on a server is not that of a release, but a leftover
// of an earlier acquire. Of several permits the release may have taken the others.
func (j errorsJudge) notReleased(release *op, s *span) bool {
	from := s.from
	if from >= release.inv {
		from = s.since
	}
	maker := release.own.ops.last(from, isAcquire)
	if maker == nil || maker.granted() {
		return false
	}
	return slices.ContainsFunc(release.own.ops.all, func(x *op) bool { return x.granted() && x.n > maker.n && x.ret <= release.inv })
}

// orphanUntil is the end of a hold that a release has not reached because of a later
// acquire. A fault delayed that acquire, which then found its owner's hold and counted
// as one more for a lease.
func (j errorsJudge) orphanUntil(release *op, s *span) int64 {
	var until int64
	for _, c := range release.own.changes.between(release.inv, s.to) {
		if c.group == s.group && c.command() && c.holder == release.owner && c.Count > c.WasCount && j.heldBack(release.client, c.group, c.t) < release.inv {
			until = max(until, c.expires())
		}
	}
	return until
}

// judgeAnswer compares an outcome with the changes on the servers meanwhile.
func (j errorsJudge) judgeAnswer(o *op) Verdict {
	switch {
	case o.f == history.Release && o.failed(history.ErrNotHeld):
		return j.judgeDeniedRelease(o)
	case o.f == history.Acquire && o.failed(history.ErrBusy):
		return j.judgeDeniedGrant(o)
	case o.f == history.Release && o.kind == history.OK:
		return j.releasedNothing(o)
	}
	return Verdict{Outcome: OutcomeOK}
}

// judgeDeniedRelease finds a release that reported no hold although it had released one.
// Fewer servers than a quorum had no hold.
func (j errorsJudge) judgeDeniedRelease(o *op) Verdict {
	var groups []string
	for _, c := range o.own.changes.between(o.inv, o.ret) {
		if !j.commandOf(c, o) || !c.givesBack(o.owner) || slices.Contains(groups, c.group) || o.followsUnclearRelease() {
			continue // a release before, without an answer, may have done it
		}
		if groups = append(groups, c.group); len(groups) >= j.claims.Quorum {
			return inherently(byServers(violation(o.ret, opIDs(o, j.grantOf(o.owner, o.lock, o.inv)),
				"the release of %s reported at %s that its owner held nothing; it had released its hold on %s at %s", o.owner, at(o.ret), c.Node, at(c.t))), j.whyForgotten(o))
		}
	}
	return Verdict{Outcome: OutcomeOK}
}

// judgeDeniedGrant finds an acquire that reported a busy lock although the servers had
// granted it, or although there was no obstacle.
func (j errorsJudge) judgeDeniedGrant(o *op) Verdict {
	if j.claims.Fairness && o.followsUnclearAcquire() {
		return Verdict{Outcome: OutcomeOK} // its place may still stand in the queue, and get the lock
	}
	type grant struct{ at, until int64 }
	groups := map[string]grant{} // that granted it and kept it
	until := o.ret
	if j.claims.TakesBack {
		until = min(plus(o.ret, j.allow.takingBack), j.asksAgain(o).asked-1)
	}
	for _, c := range o.own.changes.between(o.inv, until) {
		g, granted := groups[c.group]
		switch {
		case c.t <= o.ret && j.commandOf(c, o) && c.holder == o.owner && c.grants() && j.lateAcquires(ownerLock{o.owner, o.lock}, c, o.inv) == 0:
			groups[c.group] = grant{c.t, c.expires()}
		case c.was == o.owner && c.ends():
			delete(groups, c.group)
		case granted && c.holder == o.owner:
			groups[c.group] = grant{g.at, c.expires()}
		}
	}
	granted, latest := 0, int64(0)
	for group, g := range groups {
		if g.until > o.ret && j.stillAnswers(group, g.at, o.ret) { // a crashed server has yet to expire what is over
			granted, latest = granted+1, max(latest, g.at)
		}
	}
	if granted >= j.claims.Quorum {
		return byServers(violation(o.ret, opIDs(o), "the acquire of %s reported at %s that the lock was busy; the servers had granted it to the same owner at %s", o.owner, at(o.ret), at(latest)))
	}
	if j.nobodyElse(o) {
		return byServers(violation(o.ret, opIDs(o), "the acquire of %s reported at %s that the lock was busy; no server held it for anybody else, and nobody else asked",
			o.owner, at(o.ret)))
	}
	return Verdict{Outcome: OutcomeOK}
}

// releasedNothing finds a successful release of a hold that too few servers had, or
// that removed the hold of another owner.
func (j errorsJudge) releasedNothing(o *op) Verdict {
	if j.claims.Nodes == 1 {
		if c := j.tookAnother(o); c != nil {
			return byServers(violation(o.ret, opIDs(o, j.grantOf(c.was, o.lock, c.t)),
				"the release of %s succeeded at %s; what it removed at %s was the hold of %s", o.owner, at(o.ret), at(c.t), c.was))
		}
	}
	if c, other := j.tookAnew(o); c != nil {
		return byServers(violation(o.ret, opIDs(o, j.grantOf(o.owner, o.lock, o.inv), other),
			"the release of %s succeeded at %s; its hold had ended, %s had the lock, and then %s of %s took it again at %s without an acquire",
			o.owner, at(o.ret), other.owner, command(c), o.client, at(c.t)))
	}
	n := j.groupsHolding(o.lock, o.owner, j.releasedSince(o)-slackOfServers, o.ret, anyServer)
	switch {
	case n >= j.claims.Quorum:
		return Verdict{Outcome: OutcomeOK}
	case j.claims.Nodes > 1:
		return byServers(violation(o.ret, opIDs(o, j.grantOf(o.owner, o.lock, o.inv)),
			"the release of %s succeeded at %s; only %d of the %d servers that a hold needs still had it", o.owner, at(o.ret), n, j.claims.Quorum))
	}
	return byServers(violation(o.ret, opIDs(o, j.grantOf(o.owner, o.lock, o.inv)),
		"the release of %s succeeded at %s, although no server held the lock for it any more", o.owner, at(o.ret)))
}

// releasedSince is when the owner of a release first asked for it. It is earlier than the
// call if this one only reports the outcome of releases without an answer. A server
// released a hold for one of them, and has as many left as this one says.
func (t *trace) releasedSince(o *op) int64 {
	since := o.inv
	for _, r := range slices.Backward(o.own.ops.all[:o.own.ops.latest(o.inv)+1]) {
		if r == o {
			continue
		}
		if r.f != history.Release || r.kind != history.Info {
			break
		}
		if len(t.changes) == 0 {
			since = r.inv // no log shows which one it was
		}
		for _, c := range o.own.changes.between(r.inv, o.inv) {
			if t.commandOf(c, o) && c.givesBack(o.owner) && (c.Count == o.res.Count || c.ends() && o.res.Count == 0) {
				since = r.inv // on several servers, each may have been asked by another one
			}
		}
	}
	return since
}

// nobodyElse reports whether an acquire had no obstacle: no other hold on a server, no
// other open acquire, and no fault but refused commands. If the lock is not reentrant, an
// earlier hold of its owner is an obstacle too.
func (j errorsJudge) nobodyElse(o *op) bool {
	held := j.accountOf(ownerLock{"", o.lock}).anyHeld(o.inv-slackOfServers, o.ret, func(s *span) bool {
		return s.holder != o.owner || !j.claims.Reentrant && s.from < o.inv
	})
	return !held && !j.metItself(o) && !j.othersAsk(o) && j.overlap(o.inv, o.ret, j.allow.settling, func(f *faultSpan) bool { return !f.RefusesGrants }) == 0
}

// tookAnew finds a command of a release's client that took the free lock of one server again.
// Its hold had ended there, another owner had been granted the lock since, and no acquire
// of its own was open. So the lock did not notify the owner of that loss. A request of the
// acquire that a fault kept back is no such mistake.
func (j errorsJudge) tookAnew(o *op) (*change, *op) {
	grant := j.grantOf(o.owner, o.lock, o.inv)
	if j.claims.Nodes > 1 || j.claims.Capacity() > 1 || grant == nil || o.own.ops.last(o.inv, isAcquire) != grant {
		return nil, nil
	}
	var ended *change
	for _, c := range o.own.changes.between(grant.ret, o.inv) {
		switch {
		case c.was == o.owner && c.ends():
			ended = c
		case ended == nil || c.was != "" || c.holder != o.owner || !j.commandOf(c, o) || j.heldBack(o.client, c.group, c.t) <= grant.ret:
		default:
			for _, between := range j.accountOf(ownerLock{"", o.lock}).changes.between(ended.t, c.t) {
				if !between.command() || !between.grants() || between.holder == o.owner {
					continue
				}
				if other := j.grantOf(between.holder, o.lock, between.t); other != nil && other.granted() && other.inv >= grant.ret {
					return c, other
				}
			}
		}
	}
	return nil, nil
}

// tookAnother finds the hold of another owner that a release's client removed instead of
// its own. That owner released nothing then, and the client had nothing of it to take back.
func (j errorsJudge) tookAnother(o *op) *change {
	var other *change
	for _, c := range j.accountOf(ownerLock{"", o.lock}).changes.between(o.inv, o.ret) {
		if !j.commandOf(c, o) || c.was == "" || !c.givesBack(c.was) {
			continue
		}
		if c.was == o.owner {
			return nil
		}
		r := j.accountOf(ownerLock{c.was, o.lock}).ops.last(c.t, func(x *op) bool { return x.f == history.Release || x.f == history.Acquire })
		client, known := j.client[c.was]
		own := r != nil && (r.f == history.Release && c.t <= r.ret || client == o.client && (r.unclear() || r.f == history.Acquire && (r.kind != history.OK || c.t < r.ret && r.followsUnclearAcquire())))
		if known && other == nil && !own {
			other = c
		}
	}
	return other
}
