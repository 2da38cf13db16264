package linear

import (
	"cmp"
	"slices"
)

// chainOrder proves a history legal that has leases, phantoms or doubts. It places every
// operation of the forced order at one instant, and lets the model step through them in
// that order. Every instant is within its operation, so the order keeps real time, and
// the model's own steps make the proof. When they do not go through, some other placement
// may, and the search decides.
func (s *sessions) chainOrder() Ruling {
	lines, v := s.places()
	if v.Outcome != OutcomeOK {
		return v
	}
	states, spare := []lockState{{}}, []lockState(nil)
	left := slices.DeleteFunc(lines[:], func(line []place) bool { return len(line) == 0 })
	for len(left) > 0 {
		first := 0
		for i := 1; i < len(left); i++ {
			if byPlace(left[i][0], left[first][0]) < 0 {
				first = i
			}
		}
		o := &s.ops[left[first][0].op]
		if left[first] = left[first][1:]; len(left[first]) == 0 {
			left = slices.Delete(left, first, first+1)
		}
		spare = spare[:0]
		for k := range states {
			spare = s.r.step(spare, states[k], o)
		}
		if len(spare) > 1 {
			spare = distinct(spare)
		}
		if len(spare) == 0 {
			return missed(o)
		}
		states, spare = spare, states
	}
	return good()
}

type place struct {
	at    int64
	order position
	op    int32
}

// position orders what happens at one instant: a step of the sessions, a phantom that
// takes the lock after it, and a refusal after that.
type position int32

func ofStep(k int32) position       { return position(3 * k) }
func phantomAfter(k int32) position { return position(3*k + 1) }
func refusalAfter(k int32) position { return position(3*k + 2) }

func byPlace(a, b place) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	return cmp.Compare(a.order, b.order)
}

// releaseNeeded is the release of unknown outcome that must end session i. The lease of
// the session is too long to end before the next session; nil for none.
func (s *sessions) releaseNeeded(i int) *Op {
	c := &s.list[i]
	if c.end < 0 || s.ops[c.end].Kind != MaybeGave {
		return nil
	}
	o := &s.ops[c.end]
	if i+1 < len(s.list) && s.list[i+1].takes < o.Call {
		return nil
	}
	return o
}

func missed(o *Op) Ruling {
	return undecided("several orders are possible, and the first one tried does not fit", o)
}

// placing gives every operation of a session its instant, and every refusal one at which
// it is right. It gives each phantom that a refusal needs the instant at which it takes
// the lock.
type placing struct {
	*sessions
	start      []int32 // the first step of each session, and then the number of all
	steps      []int32 // the operations of the sessions, in order
	begin, end []int64 // of each session's hold

	// Each is in order of time.
	held, taken, refused, refusedByPhantoms, free []place
}

func (s *sessions) places() (lines [5][]place, v Ruling) {
	p := placing{sessions: s}
	p.listSteps()
	if o := p.placeSessions(); o != nil {
		return lines, missed(o)
	}
	unexplained := gaps{s: s}
	if o := p.placeRefusals(&unexplained); o != nil {
		return lines, missed(o)
	}
	if o := p.placePhantoms(&unexplained); o != nil {
		return lines, missed(o)
	}
	lines = [...][]place{p.held, p.taken, p.refused, p.refusedByPhantoms, p.free}
	for _, line := range lines[2:] {
		if !slices.IsSortedFunc(line, byPlace) {
			slices.SortFunc(line, byPlace)
		}
	}
	return lines, good()
}

func (p *placing) listSteps() {
	p.start = make([]int32, len(p.list)+1)
	for _, m := range p.member {
		if m >= 0 {
			p.start[m+1]++
		}
	}
	for i := range p.list {
		p.start[i+1] += p.start[i]
	}
	p.steps = make([]int32, p.start[len(p.list)])
	fill := slices.Clone(p.start)
	for i, m := range p.member {
		if m >= 0 {
			p.steps[fill[m]] = int32(i)
			fill[m]++
		}
	}
}

// placeSessions hands the lock from session to session: where their windows meet,
// else as late as may be. It returns an operation that does not fit, or nil.
func (p *placing) placeSessions() *Op {
	p.held = make([]place, 0, len(p.steps))
	p.begin, p.end = make([]int64, len(p.list)), make([]int64, len(p.list))
	now := longPast
	for i := range p.list {
		c := &p.list[i]
		next := Forever
		if i+1 < len(p.list) {
			next = p.list[i+1].calls
		}
		now = max(now, c.calls)
		p.begin[i] = now
		expires := add(now, c.lease)
		for k := p.start[i]; k < p.start[i+1]; k++ {
			o := &p.ops[p.steps[k]]
			now = max(now, o.Call)
			if k > p.start[i] && o.Kind == GotLock {
				expires = max(expires, add(now, o.Lease))
			}
			if c.released && k+1 == p.start[i+1] {
				now = max(now, min(next, p.latestEnd(c, o.Return, expires)))
			}
			if now > o.Return {
				return o
			}
			p.held = append(p.held, place{now, ofStep(k), p.steps[k]})
		}
		if !c.released {
			last := p.latestEnd(c, c.last, expires)
			if o := p.releaseNeeded(i); o != nil {
				now = max(now, min(next, last), o.Call)
				p.held = append(p.held, place{now, phantomAfter(p.start[i+1] - 1), c.end})
			} else {
				now = max(now, min(next, last), min(add(expires, -p.r.Slack), c.last))
			}
		}
		p.end[i] = now
	}
	return nil
}

// latestEnd is the latest end of a session: last, or before the end of its lease.
func (p *placing) latestEnd(c *session, last, expires int64) int64 {
	if c.renewed {
		return last
	}
	return min(last, add(expires, p.r.Slack))
}

// placeRefusals puts each busy reply into a hold, and any other refusal at its call.
// It leaves the busy replies that no session explains, and returns an operation that
// does not fit, or nil.
func (p *placing) placeRefusals(unexplained *gaps) *Op {
	p.refused = make([]place, 0, len(p.busy))
	gap := 0                               // the first session that ends after the call
	latest := make([]int32, len(p.owners)) // session of each owner so far
	for i := range latest {
		latest[i] = -1
	}
	for i, m := range p.member {
		o := &p.ops[i]
		if m >= 0 {
			latest[o.Owner] = m
			continue
		}
		switch o.Kind {
		case TookAndGave, MaybeGot, MaybeGave: // may come to nothing
		case FoundBusy:
			for gap > 0 && p.end[gap-1] >= o.Call {
				gap--
			}
			k := gap
			for k < len(p.list) && (p.end[k] < o.Call || p.r.Reentrant && p.ops[p.list[k].first].Owner == o.Owner) {
				k++
			}
			for gap < len(p.list) && p.end[gap] < o.Call {
				gap++
			}
			switch {
			case k < len(p.list) && p.begin[k] <= o.Return:
				p.refused = append(p.refused, place{max(p.begin[k], o.Call), refusalAfter(p.start[k]), int32(i)})
			case k == gap:
				unexplained.addRefusal(gap, int32(i))
			default:
				return o
			}
		default:
			p.free = append(p.free, p.refusedFree(int32(i), latest[o.Owner]))
		}
	}
	return nil
}

// refusedFree is the place of an operation that says that its owner holds nothing: at
// its call, after the owner's session before it, or -1.
func (p *placing) refusedFree(i, session int32) place {
	o := &p.ops[i]
	if session < 0 {
		return place{o.Call, refusalAfter(-1), i}
	}
	at := o.Call
	if p.list[session].end == i {
		at = max(at, min(p.end[session], o.Return))
	}
	return place{at, refusalAfter(p.start[session+1] - 1), i}
}

// placePhantoms finds a phantom for each busy reply that no session explains. It returns
// an operation that does not fit, or nil.
func (p *placing) placePhantoms(unexplained *gaps) *Op {
	all, left := unexplained.choosePhantoms()
	if left != nil {
		return &p.ops[left.op]
	}
	p.taken = make([]place, 0, len(all))
	now, gap := longPast, int32(-1)
	for _, h := range all {
		if h.gap != gap {
			if gap, now = h.gap, longPast; gap > 0 {
				now = p.end[gap-1]
			}
		}
		before := p.start[gap] - 1 // the last step before the gap
		phantom := &p.ops[h.phantom]
		now = max(now, phantom.Call, min(p.ops[h.refused[0].op].Return, phantom.Return))
		p.taken = append(p.taken, place{now, phantomAfter(before), h.phantom})
		taken := now
		for _, f := range h.refused {
			o := &p.ops[f.op]
			at := max(taken, o.Call)
			if at > o.Return {
				return o
			}
			now = max(now, at)
			p.refusedByPhantoms = append(p.refusedByPhantoms, place{at, refusalAfter(before), f.op})
		}
	}
	return nil
}
