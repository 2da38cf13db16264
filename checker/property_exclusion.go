package checker

import (
	"fmt"
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
