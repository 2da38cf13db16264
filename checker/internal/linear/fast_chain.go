package linear

import (
	"cmp"
	"slices"
)

// chain proves a history legal that has leases, ghosts or doubts: it places
// every operation of the forced order at one instant, and lets the model step
// through them in that order. Every instant is within its operation, so the
// order keeps real time, and the model's own steps make the proof. When they do
// not go through, some other placement may, and the search has to tell.
func (s *sessions) chain() Ruling {
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

// place is the instant given to an operation.
type place struct {
	at  int64
	tie int32 // at one instant: 3k for step k of the sessions, 3k+1 for a ghost after it, 3k+2 for a refusal
	op  int32
}

func byPlace(a, b place) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	return cmp.Compare(a.tie, b.tie)
}

// gives is the release of unknown outcome that session i has to end with, for
// its lease is too long to end before the next session; nil for none.
func (s *sessions) gives(i int) *Op {
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

// places gives every operation of a session its instant, every refusal one at
// which it is right, and every ghost that it needs for that one at which it
// takes the lock: lines, each in order of time.
func (s *sessions) places() (lines [5][]place, v Ruling) {
	// The operations of each session, in order.
	start := make([]int32, len(s.list)+1)
	for _, m := range s.member {
		if m >= 0 {
			start[m+1]++
		}
	}
	for i := range s.list {
		start[i+1] += start[i]
	}
	steps := make([]int32, start[len(s.list)])
	fill := slices.Clone(start)
	places := make([]place, 0, len(steps))
	refused, empty := make([]place, 0, len(s.busy)), []place(nil)
	for i, m := range s.member {
		if m >= 0 {
			steps[fill[m]] = int32(i)
			fill[m]++
		}
	}

	begin, end := make([]int64, len(s.list)), make([]int64, len(s.list))
	now := longPast
	for i := range s.list {
		c := &s.list[i]
		next := Forever
		if i+1 < len(s.list) {
			next = s.list[i+1].calls
		}
		now = max(now, c.calls)
		begin[i] = now
		expires := add(now, c.lease)
		for k := start[i]; k < start[i+1]; k++ {
			o := &s.ops[steps[k]]
			now = max(now, o.Call)
			if k > start[i] && o.Kind == GotLock {
				expires = max(expires, add(now, o.Lease))
			}
			if c.released && k+1 == start[i+1] {
				// Hand over where the windows meet, else as late as may be.
				last := o.Return
				if !c.renewed {
					last = min(last, add(expires, s.r.Slack))
				}
				now = max(now, min(next, last))
			}
			if now > o.Return {
				return lines, missed(o)
			}
			places = append(places, place{now, 3 * k, steps[k]})
		}
		end[i] = now
		if !c.released {
			last := c.last
			if !c.renewed {
				last = min(last, add(expires, s.r.Slack))
			}
			if o := s.gives(i); o != nil {
				now = max(now, min(next, last), o.Call)
				places = append(places, place{now, 3*start[i+1] - 2, c.end})
			} else {
				now = max(now, min(next, last), min(add(expires, -s.r.Slack), c.last))
			}
			end[i] = now
		}
	}

	// Refusals: busy while somebody holds, the others any time.
	free := gaps{s: s}
	j := 0
	latest := make([]int32, len(s.owners)) // session of each owner so far
	for i := range latest {
		latest[i] = -1
	}
	for i, m := range s.member {
		o := &s.ops[i]
		if m >= 0 {
			latest[o.Owner] = m
			continue
		}
		own := latest[o.Owner]
		switch o.Kind {
		case TookAndGave, MaybeGot, MaybeGave: // may come to nothing
		case FoundBusy:
			for j > 0 && end[j-1] >= o.Call {
				j--
			}
			k := j
			for k < len(s.list) && (end[k] < o.Call || s.r.Reentrant && s.ops[s.list[k].first].Owner == o.Owner) {
				k++
			}
			for j < len(s.list) && end[j] < o.Call {
				j++
			}
			switch {
			case k < len(s.list) && begin[k] <= o.Return:
				refused = append(refused, place{max(begin[k], o.Call), 3*start[k] + 2, int32(i)})
			case k == j:
				free.add(j, int32(i))
			default:
				return lines, missed(o)
			}
		default:
			p := place{o.Call, -1, int32(i)}
			if own >= 0 {
				p.tie = 3*start[own+1] - 1
				if s.list[own].end == int32(i) {
					p.at = max(p.at, min(end[own], o.Return))
				}
			}
			empty = append(empty, p)
		}
	}

	all, left := free.haunt()
	if left != nil {
		return lines, missed(&s.ops[left.op])
	}
	ghosts, haunted := make([]place, 0, len(all)), []place(nil)
	now, gap := longPast, int32(-1)
	for _, h := range all {
		if h.gap != gap {
			if gap, now = h.gap, longPast; gap > 0 {
				now = end[gap-1]
			}
		}
		tie := 3*start[gap] - 3
		ghost := &s.ops[h.ghost]
		now = max(now, ghost.Call, min(s.ops[h.refused[0].op].Return, ghost.Return))
		ghosts = append(ghosts, place{now, tie + 1, h.ghost})
		taken := now
		for _, f := range h.refused {
			o := &s.ops[f.op]
			at := max(taken, o.Call)
			if at > o.Return {
				return lines, missed(o)
			}
			now = max(now, at)
			haunted = append(haunted, place{at, tie + 2, f.op})
		}
	}
	lines = [...][]place{places, ghosts, refused, haunted, empty}
	for _, line := range lines[2:] {
		if !slices.IsSortedFunc(line, byPlace) {
			slices.SortFunc(line, byPlace)
		}
	}
	return lines, good()
}
