package checker

import "slices"

// arrivalSlack is how far apart two invocations must be for the servers to be
// sure to have seen them in that order.
const arrivalSlack = 50 * millisecond

// judgeFairness checks that an acquire is not granted before one that was
// already waiting when it came. Waiters whose client a fault touched may have
// lost their place.
func judgeFairness(t *trace) Verdict {
	v := Verdict{Outcome: Good}
	waiting := map[string][]*op{} // by lock, granted not before the acquire at hand came
	for _, b := range t.ops {
		if b.f != Acquire || b.kind != OK {
			continue
		}
		waiting[b.lock] = append(slices.DeleteFunc(waiting[b.lock], func(a *op) bool { return a.ret < b.inv }), b)
		for _, a := range waiting[b.lock] {
			if a.inv+arrivalSlack >= b.inv {
				break
			}
			if a.owner == b.owner || a.ret <= b.ret || b.res.Count > 1 {
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
