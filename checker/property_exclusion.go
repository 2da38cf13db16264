package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Exclusion: No two owners hold the lock at once.
const Exclusion Property = "exclusion"

// Classes of an exclusion violation.
const (
	// ContractBroken: a second owner got the lock while the first one's lease
	// was still owed. The lock broke its promise.
	ContractBroken = "contract broken"
	// LeaseOutlived: the first holder went on after its lease had ended. This
	// is inherent in leases; no lock can prevent it.
	LeaseOutlived = "lease outlived"
)

var exclusionProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Exclusion, Promise: "No two owners hold the lock at once.",
		Broken:  "two owners hold the lock at once",
		Classes: []string{ContractBroken, LeaseOutlived},
	},
	judge: plainly(judgeExclusion),
}

// overlapOf is a pair of contradicting beliefs.
type overlapOf struct {
	a, b   *Belief // a was granted first
	length int64
	class  string
	owed   int64  // when a's lease ended, where known
	server bool   // judged by the server log
	why    string // it is inherent; empty where it is the lock's fault
}

// judgeExclusion finds two owners that both believed to hold the same lock, and
// decides whose fault that is.
func judgeExclusion(t *trace) Verdict {
	if t.claims.Nodes > 1 && 2*t.claims.Quorum <= t.claims.Nodes {
		return violation(0, nil, "a hold needs %d of %d servers, so two owners can have one each at once", t.claims.Quorum, t.claims.Nodes)
	}
	var worst *overlapOf
	var longest int64
	excused := 0
	for o := range Overlaps(t.beliefs) {
		longest = max(longest, o.To-o.From)
		if worst != nil && worst.badness() == worstOverlap {
			continue
		}
		p := t.assign(o)
		if p.why != "" {
			excused++
		}
		// Claims are in the order of their grants, so the first of the worst is
		// where it began.
		if worst == nil || p.badness() > worst.badness() {
			worst = p
		}
	}
	if worst == nil {
		return Verdict{Outcome: OutcomeOK}
	}
	v := inherently(worst.verdict(t), worst.why)
	v.OverlapMS, v.Excused = ms(longest), excused
	return v
}

// badness orders overlaps: those that are the lock's fault first, then by class.
func (p *overlapOf) badness() int {
	n := 0
	if p.why == "" {
		n = 2
	}
	if p.class == ContractBroken {
		n++
	}
	return n
}

// worstOverlap is the badness of a broken contract that is the lock's fault.
const worstOverlap = 3

// assign determines the class of an overlap, and whether it is inherent.
func (t *trace) assign(o Overlap) *overlapOf {
	p := &overlapOf{a: o.A, b: o.B, length: o.To - o.From}
	t.classify(p)
	p.why = t.inherentOverlap(p)
	return p
}

// blame describes the overlaps of a belief with others.
type blame struct {
	belief  *Belief
	overlap bool
	why     string // empty where an overlap is the lock's fault
}

// blameOf is the blame of the belief under which an owner acted at a time.
func (t *trace) blameOf(k ownerLock, when int64) blame {
	if t.blamed == nil {
		t.blamed = map[ownerLock][]blame{}
		place := map[*Belief]int{}
		for i := range t.beliefs {
			c := &t.beliefs[i]
			k := ownerLock{c.Owner, c.Lock}
			place[c] = len(t.blamed[k])
			t.blamed[k] = append(t.blamed[k], blame{belief: c})
		}
		for o := range Overlaps(t.beliefs) {
			p := t.assign(o)
			for _, c := range []*Belief{p.a, p.b} {
				b := &t.blamed[ownerLock{c.Owner, c.Lock}][place[c]]
				if !b.overlap || b.why != "" {
					b.why = p.why
				}
				b.overlap = true
			}
		}
	}
	all := t.blamed[k]
	if i := sort.Search(len(all), func(i int) bool { return all[i].belief.From > when }); i > 0 {
		return all[i-1]
	}
	return blame{}
}

func (p *overlapOf) verdict(t *trace) Verdict {
	a, b := p.a, p.b
	var words string
	switch p.class {
	case ContractBroken:
		lease := "which has no end"
		if p.owed != never {
			lease = "which ran until " + at(p.owed)
		}
		words = fmt.Sprintf("%s was granted the lock at %s during the lease of %s, %s", b.Owner, at(b.From), a.Owner, lease)
	case LeaseOutlived:
		words = fmt.Sprintf("%s was granted the lock at %s; %s went on after its lease had ended at %s", b.Owner, at(b.From), a.Owner, at(p.owed))
		if t.claims.LostSign && t.h.Header.User != history.Careless {
			words += ", and had not been told of its loss"
		}
	default:
		words = fmt.Sprintf("%s was granted the lock at %s while %s still held it; without a server log nobody can say whether its lease had ended",
			b.Owner, at(b.From), a.Owner)
	}
	v := violation(max(a.From, b.From), opIDs(t.op(a.AcquireOp), t.op(b.AcquireOp), t.op(a.EndOp)), "%s; both held it for %s", words, long(p.length))
	v.Class = p.class
	if p.server {
		v = byServers(v)
	}
	return v
}

// classify decides whether the earlier holder's lease was still owed when the
// later one got the lock.
func (t *trace) classify(p *overlapOf) {
	got, seen := t.arrival(p.b)
	if first, known := t.arrival(p.a); seen && known && got < first {
		// The servers granted them the other way round, and the earlier one
		// got its reply late.
		p.a, p.b, got = p.b, p.a, first
	}
	bound := t.owedByClient(p.a, got)
	if owed, ok := t.owedByServers(p.a, got); ok {
		p.server = true
		p.owed = max(owed, bound)
		p.class = LeaseOutlived
		if p.owed > plus(got, t.allow.rounding) {
			p.class = ContractBroken
		}
		return
	}
	// The clients' own times bound the lease from both sides.
	p.server = seen
	earliest := got
	if !seen {
		earliest = t.op(p.b.AcquireOp).inv
	}
	switch upper := t.latestEnd(p.a, got); {
	case bound > plus(got, t.allow.rounding):
		p.class, p.owed = ContractBroken, bound
	case upper <= earliest:
		p.class, p.owed = LeaseOutlived, upper
	}
}

// leaseOnServers is the time in which the servers owed a belief its lease, with the
// renewals until its owner asks for the lock again. It rests on the same evidence as the
// verdict on an overlap. Both ends are 0 where no lease is known to end.
func (t *trace) leaseOnServers(b *Belief) (from, to int64) {
	o := t.op(b.AcquireOp)
	by := plus(t.endTime, 1)
	if i := o.own.ops.from(b.To); i < len(o.own.ops.all) {
		if next := slices.IndexFunc(o.own.ops.all[i:], isAcquire); next >= 0 {
			by = max(b.To, o.own.ops.all[i+next].inv)
		}
	}
	from, _ = t.arrival(b)
	if owed, known := t.owedByServers(b, by); known {
		to = max(owed, t.owedByClient(b, by))
	} else if owed, since, found := t.foundOwn(b, o); found {
		from, to = since, owed
	} else {
		to = t.latestEnd(b, b.To)
	}
	if to == never || to <= from {
		return 0, 0
	}
	return from, to
}

// arrival is when a hold was on enough servers, and whether the server log shows
// that. Without the log it is when the client got the reply.
func (t *trace) arrival(c *Belief) (int64, bool) {
	o := t.op(c.AcquireOp)
	groups := make([]string, 0, fewServers)
	when := o.ret
	for _, s := range o.own.changes.between(o.inv, o.ret) {
		switch {
		case s.takesBack(o):
			groups = slices.DeleteFunc(groups, func(group string) bool { return group == s.group })
		case s.holder == c.Owner && s.grants() && s.command() && !slices.Contains(groups, s.group):
			if groups = append(groups, s.group); len(groups) == t.claims.Quorum {
				when = s.t
			}
		}
	}
	if len(groups) < t.claims.Quorum {
		return o.ret, false
	}
	return when, true
}

// owedByServers is until when a quorum of servers owed a belief its hold, by its last
// grant or renewal on each of them. It looks at changes before a time. A server that
// later lost the hold or was replaced still owes it: the client was promised it. What
// the acquire took back before it returned is not owed.
func (t *trace) owedByServers(c *Belief, by int64) (int64, bool) {
	type promise struct {
		node, group string
		until       int64
	}
	o := t.op(c.AcquireOp)
	owed := make([]promise, 0, fewServers) // the latest of each server
	for _, s := range o.own.changes.between(o.inv, by-1) {
		switch {
		case s.takesBack(o):
			owed = slices.DeleteFunc(owed, func(p promise) bool { return p.node == s.Node })
		case s.holder == c.Owner && s.command():
			i := slices.IndexFunc(owed, func(p promise) bool { return p.node == s.Node })
			if i < 0 {
				i = len(owed)
				owed = append(owed, promise{})
			}
			owed[i] = promise{s.Node, s.group, s.expires()}
		}
	}
	slices.SortFunc(owed, func(a, b promise) int { return cmp.Compare(b.until, a.until) })
	groups := make([]string, 0, fewServers)
	for _, p := range owed {
		if slices.Contains(groups, p.group) {
			continue // it has promised more on another server
		}
		if groups = append(groups, p.group); len(groups) == t.claims.Quorum {
			return p.until, true
		}
	}
	return 0, false
}

// fewServers is the initial capacity of lists of servers, enough for most locks.
const fewServers = 8

// owedByClient is the least time until which a belief was owed its hold. Each of its
// returned and unreleased acquires promised one lease, counted from a time after its
// invocation.
func (t *trace) owedByClient(c *Belief, by int64) int64 {
	var held []int64
	inv := t.op(c.AcquireOp).inv
	steps := t.steps(ownerLock{c.Owner, c.Lock})
	for _, s := range steps[sort.Search(len(steps), func(i int) bool { return steps[i].t >= inv }):] {
		if s.t >= by {
			break
		}
		if s.o == nil || s.o.inv < inv {
			continue
		}
		switch {
		case s.ret && s.o.granted():
			end := int64(0)
			lease := t.leaseOf(s.o)
			short := t.claims.Fairness && t.neverWhole(s.o) > 0 // the servers say for how long it was handed on
			if !short && (lease != never || !t.claims.Lease) {
				end = plus(s.o.inv, lease)
			}
			held = append(held, end)
		case s.o.f == history.Release && !s.ret && len(held) > 0:
			held = held[:len(held)-1]
		}
	}
	var end int64
	for _, h := range held {
		end = max(end, h)
	}
	if len(held) == 0 {
		return end
	}
	for _, x := range t.op(c.AcquireOp).own.extensionsFrom(inv) {
		if x.kind == history.OK && x.ret < by {
			end = max(end, plus(x.inv, x.args.Lease))
		}
	}
	return end
}

// latestEnd is the latest end of a belief's lease without a renewal; never if that
// is unknown.
func (t *trace) latestEnd(c *Belief, by int64) int64 {
	var longest, last int64
	own, inv := t.op(c.AcquireOp).own, t.op(c.AcquireOp).inv
	for _, o := range own.ops.all[own.ops.from(inv):] {
		if o.inv >= by {
			break
		}
		if o.f == history.Inspect {
			continue
		}
		if o.args.Renewed || (o.f == history.Acquire && t.leaseOf(o) == never) {
			return never
		}
		longest, last = max(longest, o.args.Lease), max(last, min(o.ret, by))
	}
	for _, x := range own.extensionsFrom(inv) {
		if x.inv < by && x.mayHaveWorked() {
			longest, last = max(longest, x.args.Lease), max(last, min(x.ret, by))
		}
	}
	return plus(last, longest)
}
