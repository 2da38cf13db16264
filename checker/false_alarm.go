package checker

// falseAlarm checks that nobody is told that its hold is lost while the
// servers keep it: a holder may give its hold up early by a margin, for
// clocks that do not run at the same pace, but not by a quarter of its lease.
// A fault since the hold was asked for may have kept from the client what the
// servers know, or from the servers what it had sent.
func (t *trace) falseAlarm(n *Event) Verdict {
	if n.F != Lost {
		return Verdict{Outcome: Good}
	}
	for i := range t.claims {
		c := &t.claims[i]
		if c.To != n.Time || c.Client != n.Client || (n.Owner != "" && c.Owner != n.Owner) {
			continue // it may have ended by the release that follows at the same instant
		}
		o := t.op(c.AcquireOp)
		if c.Lease == 0 || t.overlap(o.inv, n.Time, settling, func(f *faultSpan) bool { return !instant[f.name] || f.from >= o.inv }) > 0 {
			continue
		}
		owed, ok := t.owedByServers(c, n.Time)
		if !ok || owed == never || owed-n.Time <= c.Lease/4+rounding {
			continue
		}
		if t.groupsHolding(c.Lock, c.Owner, n.Time, n.Time, false) < t.claim.Quorum {
			continue
		}
		return byServers(violation(n.Time, opIDs(o), "%s was told at %s that its hold is lost; the servers kept it until %s",
			c.Owner, at(n.Time), at(owed)))
	}
	return Verdict{Outcome: Good}
}
