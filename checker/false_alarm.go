package checker

// falseAlarm checks that nobody is told that its hold is lost while the
// servers keep it: a holder may give its hold up early by a margin, for
// clocks that do not run at the same pace, but not by a quarter of its lease.
// What a fault may have kept from the client is no alarm of the lock's own.
func (t *trace) falseAlarm(n *Event) Verdict {
	for i := range t.claims {
		c := &t.claims[i]
		if n.F != Lost || c.EndedBy != "lost" || c.EndOp != 0 || c.To != n.Time || c.Client != n.Client || (n.Owner != "" && c.Owner != n.Owner) {
			continue
		}
		o := t.byID[c.AcquireOp]
		if c.Lease == 0 || t.overlap(o.inv, n.Time, settling, func(f *faultSpan) bool { return true }) > 0 {
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
