package checker

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// Count: Hold counts are right, and as many releases as acquires leave nothing behind.
const Count Property = "count"

var countProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Count, Promise: "Hold counts are right, and as many releases as acquires leave nothing behind.",
		Broken: "the hold count is wrong",
	},
	harm:  always(wrongAnswer),
	judge: plainly(func(t *trace) Verdict { return countJudge{t}.judge() }),
}

type countJudge struct{ *trace }

// judge follows every owner's hold count through its operations, and then
// checks the server log for unexpected counts and holds.
func (j countJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for _, k := range j.owners {
		v = earlier(v, j.countsOf(k))
	}
	if v.Faulty() {
		return v
	}
	for _, k := range j.owners {
		for _, x := range []Verdict{j.judgeServerCounts(k), j.judgeGhosts(k), j.judgeCountsLeft(k)} {
			if x.Outcome == Violated {
				v = earlier(v, byServers(x))
			}
		}
	}
	return v
}

// bounds of a hold count; operations with unknown outcome spread them.
type bounds struct{ lo, hi int }

// after returns the bounds after a step of the owner.
func (b bounds) after(s step) bounds {
	switch {
	case s.o == nil:
		b.lo = 0
	case !s.ret:
	case s.o.granted():
		if c := s.o.res.Count; c > 0 {
			return bounds{c, c}
		}
		return bounds{b.lo + s.o.permits(), b.hi + s.o.permits()}
	case s.o.f == history.Acquire && (s.o.kind == history.Info || s.o.res.Error == history.ErrOther):
		b.hi += s.o.permits()
	case s.o.f == history.Release && s.o.kind == history.OK:
		return bounds{s.o.res.Count, s.o.res.Count}
	case s.o.f == history.Release && s.o.failed(history.ErrNotHeld):
		return bounds{}
	case s.o.f == history.Release && s.o.failed(history.ErrLost):
		b.lo = 0
	case s.o.f == history.Release:
		b.lo = max(b.lo-s.o.permits(), 0)
	}
	return b
}

// lateRequests counts the requests of an owner without an answer. A server may execute
// each of them late, after the owner's next ones. A lock that takes its acquires back
// makes sure of the opposite.
type lateRequests struct{ acquires, releases int }

func (l *lateRequests) add(c history.Terms, s step) {
	if c.TakesBack || s.o == nil || !s.ret || s.o.kind != history.Info {
		return
	}
	switch s.o.f {
	case history.Acquire:
		l.acquires += s.o.permits()
	case history.Release:
		l.releases += s.o.permits()
	}
}

// countsOf checks the counts in the results of an owner's operations.
func (j countJudge) countsOf(k ownerLock) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	var b bounds
	var late lateRequests
	var before, first *op
	for _, s := range j.steps(k) {
		late.add(j.claims, s)
		if s.o != nil && s.o.f == history.Acquire && !s.ret && b.hi == 0 {
			first = s.o
		}
		if s.ret && s.o.kind == history.OK {
			c := s.o.res.Count
			wrong := false
			switch s.o.f {
			case history.Acquire: // a hold that was lost starts again at 1
				wrong = c > b.hi+s.o.permits()+late.acquires || (c > 1 && c < b.lo+1-late.releases) || (c == 1 && b.lo > 0 && !j.mayHaveLost(k, before, s.o))
			case history.Release: // nothing held: for the other judges to say
				wrong = b.hi > 0 && (c > b.hi-s.o.permits()+late.acquires || c < b.lo-s.o.permits()-late.releases)
			case history.Inspect:
				wrong = c > b.hi+late.acquires || (c < b.lo-late.releases && c > 0)
			}
			if wrong {
				x := violation(s.t, opIDs(before, s.o), "the %s of %s at %s returned count %d; %s", s.o.f, k.owner, at(s.t), c, b.words(s.o))
				from := s.o.inv
				if first != nil {
					from = first.inv
				}
				if v = earlier(v, inherently(x, j.whyHoldSetBack(k, from, s.t))); v.Faulty() {
					return v
				}
			}
		}
		if b = b.after(s); s.ret && s.o.f != history.Inspect {
			before = s.o
		}
	}
	return v
}

func (b bounds) words(o *op) string {
	switch n := b.hi; {
	case o.f == history.Acquire && b.lo == b.hi:
		return "it should have been " + strconv.Itoa(n+o.permits())
	case o.f == history.Release && b.lo == b.hi:
		return "it should have been " + strconv.Itoa(n-o.permits())
	}
	return "the owner can have had " + strconv.Itoa(b.lo) + " to " + strconv.Itoa(b.hi) + " holds before"
}

// mayHaveLost reports whether a hold may have been gone when an acquire of its owner was
// granted. Its lease could have run out, or a server saw it end.
func (j countJudge) mayHaveLost(k ownerLock, before, o *op) bool {
	if !j.claims.Reentrant || before == nil || len(j.changes) == 0 {
		return true
	}
	if lease := j.leaseOf(before); before.f != history.Acquire || plus(before.inv, lease) <= o.ret+slackOfServers {
		return true
	}
	return j.struckBy(o.ret, "does more than stop", "", func(f *faultSpan) bool { return !f.onlyStops() }) ||
		slices.ContainsFunc(before.own.changes.between(before.inv, o.ret), func(c *change) bool { return c.was == k.owner && c.ends() })
}

// judgeServerCounts checks that no command gave an owner more holds on a server than it
// has or is acquiring.
func (j countJudge) judgeServerCounts(k ownerLock) Verdict {
	steps := j.steps(k)
	v := Verdict{Outcome: OutcomeOK}
	late := map[string]int{} // node -> holds of late requests, which are inherent
	var b bounds
	var extra int // an acquire that failed, or its leave from the queue, may still be on its way
	var open *op
	next := 0
	for _, c := range j.accountOf(k).changes.all {
		for next < len(steps) && steps[next].t <= c.t {
			s := steps[next]
			switch {
			case s.o != nil && s.o.f == history.Acquire && !s.ret:
				open, extra = s.o, 0
			case s.ret && s.o == open && s.t < c.t:
				open = nil
				// A releasing owner may hand the lock to a waiter that has left, until the server learns of it.
				queued := j.claims.Fairness && s.o.args.Wait > 0 && s.o.res.Error == history.ErrBusy
				if s.o.kind == history.Fail && (s.o.res.Error == history.ErrCanceled || queued) {
					extra = s.o.permits()
				}
			case s.ret && s.o == open:
				// The change and the return are simultaneous: it may belong to it.
				extra = s.o.permits()
			}
			if n := b.after(s); s.o != nil && s.ret && s.o.f == history.Release && s.t == c.t {
				b = bounds{n.lo, max(n.hi, b.hi)}
			} else {
				b = n
			}
			next++
		}
		if c.was == k.owner && c.ends() {
			delete(late, c.Node)
		}
		if c.holder != k.owner || !c.command() || (c.Count <= c.WasCount && c.was == c.holder) {
			continue
		}
		allowed := b.hi + extra + late[c.Node] + j.unclearPermits(j.accountOf(k), c.t)
		if open != nil {
			allowed += open.permits()
		}
		if c.Count > allowed && j.claims.Nodes > 1 {
			// The others may have made the hold and ended it meanwhile.
			allowed = max(allowed, mostAsked(steps, j.heldBack(j.client[k.owner], c.group, c.t), c.t))
		}
		if c.Count > allowed {
			allowed += j.lateAcquires(k, c, c.t)
		}
		if c.Count > allowed {
			asked := fmt.Sprintf("it can have had %d at most", allowed)
			if allowed == 0 {
				asked = "it held none then, and no acquire of it was open"
			}
			x := violation(c.t, opIDs(open, j.grantOf(k.owner, k.lock, c.t)), "%s counted %s of %s at %s; %s",
				c.Node, english.Count(c.Count, "hold"), k.owner, at(c.t), asked)
			why := cmp.Or(j.whyServedAgain(k, c), j.whyRequestForgotten(k, c))
			if r := j.accountOf(k).ops.last(c.t, func(o *op) bool { return o.f == history.Release }); why == "" && r != nil && c.was == k.owner {
				why = j.whyUndone(r)
			}
			if v = earlier(v, inherently(x, why)); v.Faulty() {
				return v
			}
			late[c.Node] += c.Count - allowed
		}
	}
	return v
}

// lateAcquires counts an owner's acquires without a grant before a time, whose request a
// fault may have kept back until a command. The place of one in a queue may stand as well. A
// lock that claims to take acquires back takes back what such a request is granted.
func (t *trace) lateAcquires(k ownerLock, c *change, before int64) (n int) {
	if t.claims.TakesBack && !slices.ContainsFunc(t.accountOf(k).changes.between(c.t+1, plus(c.t, t.allow.takingBack)), func(d *change) bool {
		return d.Node == c.Node && d.command() && d.By == c.By && d.givesBack(k.owner)
	}) {
		return 0
	}
	since := t.heldBack(t.client[k.owner], c.group, c.t)
	for _, o := range t.accountOf(k).ops.all {
		if o.inv >= before {
			break
		}
		stands := (t.claims.Fairness || t.claims.PrefersWriters) && o.unclear() && c.t <= t.leftQueue(o, o.args.Lease)
		if o.f == history.Acquire && !o.granted() && o.ret < c.t && (o.ret >= since || stands) {
			n += o.permits()
		}
	}
	return n
}

// unclearPermits counts the permits of a semaphore, or the holds of a reader, that operations
// without an answer may have left their owner. No later release ends these.
func (t *trace) unclearPermits(own *account, by int64) (n int) {
	if t.claims.Capacity() == 1 {
		return 0
	}
	for _, o := range own.ops.all[:own.ops.latest(by)+1] {
		if o.unclear() && o.ret < by {
			n += o.permits()
		}
	}
	return n
}

// mostAsked is the largest number of holds that an owner had or requested between
// two times.
func mostAsked(steps []step, from, to int64) int {
	var b bounds
	most := 0
	for _, s := range steps {
		if s.t > to {
			break
		}
		if s.t >= from {
			asked := b.hi
			if s.o != nil && s.o.f == history.Acquire && s.ret {
				asked += s.o.permits()
			}
			most = max(most, asked)
		}
		b = b.after(s)
	}
	return max(most, b.hi)
}

// judgeGhosts checks that an owner without holds has none on the servers. It excuses
// servers that a fault may have cut off or set back.
func (j countJudge) judgeGhosts(k ownerLock) Verdict {
	if _, crashed := j.crashed[j.client[k.owner]]; crashed {
		return Verdict{Outcome: OutcomeOK}
	}
	var b bounds
	var last *op
	for _, s := range j.steps(k) {
		if s.o == nil || (s.o.f != history.Inspect && (s.o.unclear() || s.o.res.Error == history.ErrLost || s.o.res.Error == history.ErrOther)) {
			return Verdict{Outcome: OutcomeOK} // its rest is unknown
		}
		if b = b.after(s); s.ret && s.o.f != history.Inspect {
			last = s.o
		}
	}
	if last == nil || last.f != history.Release || b.hi > 0 {
		return Verdict{Outcome: OutcomeOK}
	}
	groups, grant := map[string]bool{}, j.grantOf(k.owner, k.lock, last.ret)
	for s := range last.own.heldAt(last.ret, last.ret) {
		if !s.replica && s.to > last.ret && !j.disturbed(s.group, last.ret) && !j.ofEarlyRound(grant, s) {
			groups[s.group] = true
		}
	}
	if len(groups) <= j.claims.Nodes-max(j.claims.Quorum, 1) {
		return Verdict{Outcome: OutcomeOK}
	}
	return violation(last.ret, opIDs(last, grant), "%s had given back all its holds by %s, and the servers still have it as the holder",
		k.owner, at(last.ret))
}

// innerEnd is the end of an inner hold, or of an inner acquire without a grant.
type innerEnd struct {
	o     *op
	outer []*op   // the acquires of the holds that are left, outermost first
	left  *change // what the server has of the owner from then on
	when  int64
}

// innerEnds yields the ends of an owner's inner holds after which one server has the
// rest, and the owner leaves that alone for a moment. It leaves out an owner with an
// operation of unknown outcome: its server may have more. The next step reuses outer.
func (t *trace) innerEnds(k ownerLock) iter.Seq[innerEnd] {
	return func(yield func(innerEnd) bool) {
		if !t.claims.Reentrant || t.claims.Nodes > 1 || len(t.changes) == 0 {
			return
		}
		var outer []*op
		unclear := false
		for _, o := range t.accountOf(k).ops.all {
			when := int64(never)
			switch {
			case o.granted() && o.res.Count <= 1:
				outer, unclear = append(outer[:0], o), unclear && !t.claims.TakesBack
			case o.granted():
				outer, unclear = append(outer, o), unclear || o.res.Count != len(outer)+1
			case o.f == history.Acquire:
				if t.claims.TakesBack && !o.open() && !unclear && len(outer) > 0 {
					when = t.takenBackBy(o)
				}
				unclear = unclear || o.unclear()
			case o.f == history.Release && o.kind == history.OK:
				if outer = outer[:min(o.res.Count, len(outer))]; len(outer) > 0 && len(outer) == o.res.Count && !unclear {
					when = o.ret
				}
			case o.f == history.Release:
				outer, unclear = outer[:0], unclear || o.unclear()
			}
			if when == never {
				continue
			}
			if left := t.leftOnServer(o, when); left != nil && !yield(innerEnd{o, outer, left, when}) {
				return
			}
		}
	}
}

// takenBackBy is when a lock must have taken an inner acquire back; never if a fault
// keeps it from that for long.
func (t *trace) takenBackBy(o *op) int64 {
	for s := range o.own.heldAt(o.ret, o.ret) {
		if s.replica {
			continue
		}
		if from, excused := t.noObstacleFrom(o, s); !excused {
			return max(from, o.ret) + t.allow.takingBack
		}
	}
	return never
}

// leftOnServer is the change with the hold of an owner on a server at a time. Nothing may
// end that hold, and the owner may request nothing before.
func (t *trace) leftOnServer(o *op, when int64) *change {
	if when >= min(o.nextInv(), o.nextExtension(), t.endTime, t.closing.at(o.client), t.crashed.at(o.client)) {
		return nil
	}
	for _, c := range slices.Backward(o.own.changes.between(0, when)) {
		if c.Role == "replica" {
			continue
		}
		if c.holder != o.owner || t.replaced(c.group, when) || t.clockFault(c.group, when) || c.expires() <= when {
			return nil
		}
		return c
	}
	return nil
}

// judgeCountsLeft checks that the server counts no more holds of an owner than the end of an
// inner hold has left.
func (j countJudge) judgeCountsLeft(k ownerLock) Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for e := range j.innerEnds(k) {
		if e.left.Count > len(e.outer) {
			v = earlier(v, violation(e.when, opIDs(e.o), "the %s of %s left %s; %s counts %d at %s",
				e.o.f, k.owner, english.Count(len(e.outer), "hold"), e.left.Node, e.left.Count, at(e.when)))
		}
	}
	return v
}
