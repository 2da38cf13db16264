package checker

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
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
	harm: func(verdicts map[Property]Verdict) Harm {
		if verdicts[Exclusion].Class == LeaseOutlived {
			return TwoHoldersPastLease
		}
		return TwoHolders
	},
	judge: plainly(judgeExclusion),
}

// contradiction is a pair of beliefs that overlap, in the order of their grants.
type contradiction struct {
	first, second *Belief
	others        []*Belief // that held a part of the lock as well, where two alone are not too many
	length        int64
	class         string
	owed          int64  // when the first lease ended, where known
	server        bool   // judged by the server log
	why           string // it is inherent; empty where it is the lock's fault
}

// room is the number of owners who may have an exclusive hold at once.
func (t *trace) room() int { return t.claims.Capacity() / t.claims.Weight(history.Share{}) }

// manyQuorums says that the servers let in more owners than the lock has room for, without any
// fault; "" if they do not. Each has room for as many, and an owner needs a place on Quorum.
func (t *trace) manyQuorums() string {
	if n := t.claims.Nodes * t.room() / t.claims.Quorum; n > t.room() {
		return fmt.Sprintf("a hold needs %d of %d servers, so %d owners can have one each at once", t.claims.Quorum, t.claims.Nodes, n)
	}
	return ""
}

// judgeExclusion finds owners that all believed to hold a lock which has no room for so
// many, and decides whose fault that is.
func judgeExclusion(t *trace) Verdict {
	if why := t.manyQuorums(); why != "" && t.room() == 1 {
		return violation(0, nil, "%s", why)
	}
	var worst *contradiction
	var longest int64
	excused := 0
	for crowd := range crowds(t.beliefs, t.claims.Claims) {
		for _, o := range crowd {
			longest = max(longest, o.To-o.From)
		}
		if worst != nil && worst.badness() == worstOverlap {
			continue
		}
		for _, p := range t.judgeCrowd(crowd) {
			if p.why != "" {
				excused++
			}
			// Overlaps are in the order of the later grants, so the first of the worst is
			// where it began.
			if worst == nil || p.badness() > worst.badness() {
				worst = p
			}
		}
	}
	if worst == nil {
		return Verdict{Outcome: OutcomeOK}
	}
	v := inherently(worst.verdict(t), worst.why)
	v.OverlapMS, v.Excused = ms(longest), excused
	return v
}

// crowds yields the overlaps of each later belief together.
func crowds(beliefs []Belief, claims history.Claims) iter.Seq[[]Overlap] {
	return func(yield func([]Overlap) bool) {
		var crowd []Overlap
		for o := range Overlaps(beliefs, claims) {
			if len(crowd) > 0 && crowd[0].B != o.B {
				if !yield(crowd) {
					return
				}
				crowd = crowd[:0]
			}
			crowd = append(crowd, o)
		}
		if len(crowd) > 0 {
			yield(crowd)
		}
	}
}

// judgeCrowd judges each overlap of a crowd for which the lock has no room by itself. The
// others count together: the gravest come first, and the one with which the lock has no
// more room decides. So the excuse of one hold excuses one more, and not two. If the leases
// never ran all at once, the owner whose lease ended first went on after it.
func (t *trace) judgeCrowd(crowd []Overlap) []*contradiction {
	var all, together []*contradiction
	otherOf := map[*contradiction]*Belief{}
	for _, o := range crowd {
		p := t.judgeOverlap(o)
		if o.A.Weight+o.B.Weight > t.claims.Capacity() {
			all = append(all, p)
		} else {
			together, otherOf[p] = append(together, p), o.A
		}
	}
	slices.SortStableFunc(together, func(p, q *contradiction) int { return q.badness() - p.badness() })
	b := crowd[0].B
	weight := b.Weight
	for i, p := range together {
		if weight += otherOf[p].Weight; weight <= t.claims.Capacity() {
			continue
		}
		if crowd := together[:i+1]; p.badness() == worstOverlap && !t.ranAtOnce(crowd) {
			slices.SortStableFunc(crowd, func(p, q *contradiction) int { return cmp.Compare(q.owed, p.owed) })
			p = crowd[i]
			p.class, p.why = LeaseOutlived, t.whyOutlivedInherent(p)
		}
		for _, q := range together[:i] {
			p.others = append(p.others, otherOf[q])
		}
		return append(all, p)
	}
	return all
}

// ranAtOnce reports whether the leases that a crowd was owed ran all at once: the first
// one ended after the last grant.
func (t *trace) ranAtOnce(crowd []*contradiction) bool {
	var last int64
	for _, p := range crowd {
		granted, _ := t.grantOnServers(p.second)
		last = max(last, granted)
	}
	return !slices.ContainsFunc(crowd, func(p *contradiction) bool { return p.owed <= plus(last, t.allow.rounding) })
}

// badness orders overlaps: those that are the lock's fault first, then by class.
func (p *contradiction) badness() int {
	n := 0
	if p.why == "" {
		n = 2
	}
	if p.class == ContractBroken {
		n++
	}
	return n
}

const worstOverlap = 3

// judgeOverlap determines the class of an overlap, and whether it is inherent.
func (t *trace) judgeOverlap(o Overlap) *contradiction {
	first, second, when, byLog := t.orderOfGrants(o)
	p := &contradiction{first: first, second: second, length: o.To - o.From}
	p.class, p.owed, p.server = t.classOfOverlap(first, second, when, byLog)
	p.why = t.whyOverlapInherent(p)
	return p
}

// orderOfGrants returns two beliefs as the servers granted them, when they granted the
// second, and whether the server log shows that. Without it the answers give the order.
func (t *trace) orderOfGrants(o Overlap) (first, second *Belief, when int64, byLog bool) {
	when, byLog = t.grantOnServers(o.B)
	if other, known := t.grantOnServers(o.A); byLog && known && when < other {
		return o.B, o.A, other, true // the answer to the first came late
	}
	return o.A, o.B, when, byLog
}

// classOfOverlap decides whether the first owner's lease was still owed when the second
// one got the lock, and until when it was owed. The class is empty if nothing shows it.
func (t *trace) classOfOverlap(first, second *Belief, when int64, byLog bool) (class string, owed int64, byServers bool) {
	owed, known := t.owedUntil(first, when)
	switch {
	case owed > plus(when, t.allow.rounding):
		return ContractBroken, owed, known || byLog
	case known:
		return LeaseOutlived, owed, true
	}
	// The clients' own times bound the lease from both sides.
	earliest := when
	if !byLog {
		earliest = t.op(second.AcquireOp).inv
	}
	if latest := t.latestEnd(first, when); latest <= earliest {
		return LeaseOutlived, latest, byLog
	}
	return "", 0, byLog
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
		for crowd := range crowds(t.beliefs, t.claims.Claims) {
			for _, p := range t.judgeCrowd(crowd) {
				for _, c := range append([]*Belief{p.first, p.second}, p.others...) {
					b := &t.blamed[ownerLock{c.Owner, c.Lock}][place[c]]
					if !b.overlap || b.why != "" {
						b.why = p.why
					}
					b.overlap = true
				}
			}
		}
	}
	all := t.blamed[k]
	if i := sort.Search(len(all), func(i int) bool { return all[i].belief.From > when }); i > 0 {
		return all[i-1]
	}
	return blame{}
}

func (p *contradiction) verdict(t *trace) Verdict {
	a, b := p.first, p.second
	first, second := t.claims.NameOwner(a.Share, a.Owner), t.claims.NameOwner(b.Share, b.Owner)
	var words string
	switch p.class {
	case ContractBroken:
		lease := "which has no end"
		if p.owed != never {
			lease = "which ran until " + at(p.owed)
		}
		words = fmt.Sprintf("%s was granted the lock at %s during the lease of %s, %s", second, at(b.From), first, lease)
	case LeaseOutlived:
		words = fmt.Sprintf("%s was granted the lock at %s; %s went on after its lease had ended at %s", second, at(b.From), first, at(p.owed))
		if t.claims.LostSign && t.h.Header.User != history.Careless {
			words += ", and had not been told of its loss"
		}
	default:
		words = fmt.Sprintf("%s was granted the lock at %s while %s still held it; without a server log nobody can say whether its lease had ended",
			second, at(b.From), first)
	}
	ops, both, taken := []*op{t.op(a.AcquireOp), t.op(b.AcquireOp), t.op(a.EndOp)}, "both", a.Weight+b.Weight
	if len(p.others) > 0 {
		names := make([]string, len(p.others))
		for i, x := range p.others {
			names[i], ops, taken = t.claims.NameOwner(x.Share, x.Owner), append(ops, t.op(x.AcquireOp)), taken+x.Weight
		}
		both = fmt.Sprintf("with %s, %d owners of %s", strings.Join(names, " and "), len(names)+2, english.Count(t.claims.Capacity(), "permit"))
	}
	words = fmt.Sprintf("%s; %s held it for %s", words, both, long(p.length))
	if t.claims.Weighted {
		words += fmt.Sprintf(", with %d of %s", taken, english.Count(t.claims.Capacity(), "permit"))
	}
	if why := t.manyQuorums(); why != "" {
		words += "; " + why
	}
	v := violation(max(a.From, b.From), opIDs(ops...), "%s", words)
	v.Class = p.class
	if p.server {
		v = byServers(v)
	}
	return v
}
