package checker

// arrivalSlack is how far apart two invocations must be for the servers to be
// sure to have seen them in that order.
const arrivalSlack = 50 * millisecond

// judgeFairness checks that an acquire is not granted before one that was
// already waiting when it came, be that one granted later or refused at the end
// of its wait. Waiters whose client a fault touched may have lost their place.
func judgeFairness(t *trace) Verdict {
	v := Verdict{Outcome: Good}
	for _, b := range t.ops {
		if b.f != Acquire || b.kind != OK {
			continue
		}
		for _, a := range t.ops {
			if a.inv+arrivalSlack >= b.inv {
				break
			}
			if a.f != Acquire || !stillWaiting(a, b.ret) || a.lock != b.lock || a.owner == b.owner || b.res.Count > 1 {
				continue
			}
			if t.overlap(a.inv, b.ret, second, func(f *faultSpan) bool { return f.touchesClient(a.client) }) > 0 {
				continue
			}
			v = earlier(v, violation(b.ret, opIDs(a, b), "%s was granted the lock at %s before %s, which had waited since %s, longer than it",
				b.owner, at(b.ret), a.owner, at(a.inv)))
		}
	}
	return v
}

// stillWaiting says whether an acquire was in the queue at a time. One that is
// refused has left the queue before it returns.
func stillWaiting(a *op, when int64) bool {
	switch {
	case a.kind == OK:
		return a.ret > when
	case a.kind == Fail && a.res.Error == ErrBusy:
		return a.ret > when+arrivalSlack
	}
	return false
}
