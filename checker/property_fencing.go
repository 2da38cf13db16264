package checker

// judgeFencing checks that tokens grow from hold to hold. Two holds that were
// granted one after the other must have growing tokens; two whose acquires
// overlapped in time must at least differ.
func judgeFencing(t *trace) Verdict {
	v := Verdict{Outcome: Good}
	for _, k := range t.owners {
		v = earlier(v, t.stableTokens(k))
	}
	for i := range t.claims {
		a := &t.claims[i]
		ao := t.byID[a.AcquireOp]
		if a.Token == 0 {
			v = earlier(v, violation(a.From, opIDs(ao), "%s was granted the lock at %s without a token", a.Owner, at(a.From)))
			continue
		}
		var highest *Claim
		for j := range t.claims[:i] {
			b := &t.claims[j] // granted before a, as far as clients saw
			if b.Lock != a.Lock || b.Token < a.Token || b.Token == 0 || (highest != nil && b.Token <= highest.Token) {
				continue
			}
			if b.Token == a.Token || t.byID[b.AcquireOp].ret < ao.inv {
				highest = b
			}
		}
		if b := highest; b != nil {
			v = earlier(v, violation(a.From, opIDs(t.byID[b.AcquireOp], ao), "%s was granted the lock at %s with token %d; the highest token before was %d, of %s at %s",
				a.Owner, at(a.From), a.Token, b.Token, b.Owner, at(b.From)))
		}
	}
	return v
}

// stableTokens checks that nested acquires of a hold return its token.
func (t *trace) stableTokens(k ownerLock) Verdict {
	var first *op
	count := 0
	for _, s := range t.steps(k) {
		switch {
		case s.o == nil:
			first, count = nil, 0
		case s.o.f == Acquire && s.ret && s.o.kind == OK:
			if first == nil || s.o.res.Count == 1 {
				first, count = s.o, max(s.o.res.Count, 1)
				continue
			}
			count++
			if s.o.res.Token != first.res.Token {
				return violation(s.t, opIDs(first, s.o), "%s holds the lock with token %d and was given token %d for a nested hold at %s",
					k.owner, first.res.Token, s.o.res.Token, at(s.t))
			}
		case s.o.f == Acquire && s.ret && s.o.kind == Info:
			first, count = nil, 0 // who knows what the hold is now
		case s.o.f == Release && s.ret:
			if count--; count <= 0 || s.o.kind != OK {
				first, count = nil, 0
			}
		}
	}
	return Verdict{Outcome: Good}
}
