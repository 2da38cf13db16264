package checker

import (
	"sort"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Fencing: Fencing tokens grow from hold to hold and stay the same within one.
const Fencing Property = "fencing"

var fencingProperty = property{
	PropertyInfo: PropertyInfo{
		Name: Fencing, Promise: "Fencing tokens grow from hold to hold and stay the same within one.",
		Broken: "fencing tokens do not increase from hold to hold",
	},
	harm:    always(LostUpdates),
	claimed: func(h *history.Header) bool { return h.Claims.Fencing },
	judge:   plainly(func(t *trace) Verdict { return t.fencing }),
}

type fencingJudge struct{ *trace }

// judge checks that tokens grow from hold to hold. The token of a grant must be
// above those of all holds that were certainly earlier, and differ from all others.
func (j fencingJudge) judge() Verdict {
	v := Verdict{Outcome: OutcomeOK}
	for _, k := range j.owners {
		v = earlier(v, j.stableTokens(k))
	}
	seen := map[string]*tokens{} // by lock
	for i := range j.beliefs {
		a := &j.beliefs[i]
		ao := j.op(a.AcquireOp)
		if a.Token == 0 { // beliefs are in order of time: the first is the earliest
			return earlier(v, violation(a.From, opIDs(ao), "%s was granted the lock at %s without a token", a.Owner, at(a.From)))
		}
		s := seen[a.Lock]
		if s == nil {
			s = &tokens{first: make(map[uint64]*Belief, len(j.beliefs)/len(j.locks))}
			seen[a.Lock] = s
		}
		b := s.above(a, ao.inv)
		if b != nil && b.Token == a.Token && b.Owner == a.Owner && ao.res.Count > 1 && j.mayGoOn(b) {
			b = nil
		}
		// The servers kept it for certain until its client heard. So a hold released meanwhile came before.
		if kept := a.Lease == 0 || a.From-ao.inv < a.Lease; b == nil && kept && j.lossByTraits(ao.inv, a.From).groups == 0 {
			b = s.aboveReleased(j.trace, a, ao.inv)
		}
		if b != nil {
			x := violation(a.From, opIDs(j.op(b.AcquireOp), ao), "%s was granted the lock at %s with token %d; the highest token before was %d, of %s at %s",
				a.Owner, at(a.From), a.Token, b.Token, b.Owner, at(b.From))
			if v = earlier(v, inherently(x, j.whyTokenInherent(a.From))); v.Faulty() {
				return v
			}
		}
		s.addToken(a)
	}
	return v
}

// mayGoOn reports whether the hold of a belief may have gone on after it, because the
// release that ended it got no answer.
func (j fencingJudge) mayGoOn(b *Belief) bool {
	end := j.op(b.EndOp)
	return end != nil && end.f == history.Release && end.unclear()
}

// tokens are the different tokens of the beliefs on one lock so far.
type tokens struct {
	beliefs []*Belief
	highest []*Belief // up to each of the beliefs
	first   map[uint64]*Belief
}

func (s *tokens) addToken(c *Belief) {
	s.first[c.Token] = c
	high := c
	if n := len(s.highest); n > 0 && s.highest[n-1].Token > c.Token {
		high = s.highest[n-1]
	}
	s.beliefs, s.highest = append(s.beliefs, c), append(s.highest, high)
}

// above finds the belief with the highest token among those granted before a was
// requested. If that is not higher than a's, it finds one with the token of a.
func (s *tokens) above(a *Belief, asked int64) *Belief {
	n := sort.Search(len(s.beliefs), func(i int) bool { return s.beliefs[i].From >= asked })
	if n > 0 && s.highest[n-1].Token > a.Token {
		return s.highest[n-1]
	}
	return s.first[a.Token]
}

// aboveReleased finds a belief with a token above a's that was granted after a was
// requested, and released before a was granted.
func (s *tokens) aboveReleased(t *trace, a *Belief, asked int64) *Belief {
	n := sort.Search(len(s.beliefs), func(i int) bool { return s.beliefs[i].From >= asked })
	for _, b := range s.beliefs[n:] {
		if end := t.op(b.EndOp); b.Token > a.Token && b.EndedBy == "release" && end.kind == history.OK && end.ret <= a.From {
			return b
		}
	}
	return nil
}

// stableTokens checks that nested acquires of a hold return its token. Between two of
// them, a release and an acquire without an answer may arrive late, and change the hold.
func (j fencingJudge) stableTokens(k ownerLock) Verdict {
	var first *op
	count := 0
	var late lateRequests
	for _, s := range j.steps(k) {
		late.add(j.claims, s)
		switch {
		case s.o == nil:
			first, count = nil, 0
		case s.ret && s.o.granted():
			if first == nil || s.o.res.Count == 1 {
				first, count = s.o, max(s.o.res.Count, 1)
				continue
			}
			count++
			if s.o.res.Token > first.res.Token && late.acquires > 0 && late.releases > 0 {
				first = s.o
				late.acquires, late.releases = late.acquires-1, late.releases-1
			}
			if s.o.res.Token != first.res.Token {
				return violation(s.t, opIDs(first, s.o), "%s holds the lock with token %d and was given token %d for a nested hold at %s",
					k.owner, first.res.Token, s.o.res.Token, at(s.t))
			}
		case s.o.f == history.Acquire && s.ret && s.o.kind == history.Info:
			first, count = nil, 0 // the hold is unknown now
		case s.o.f == history.Release && s.ret:
			if count--; count <= 0 || s.o.kind != history.OK {
				first, count = nil, 0
			}
		}
	}
	return Verdict{Outcome: OutcomeOK}
}
