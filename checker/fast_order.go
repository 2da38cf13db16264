package checker

// order checks that the sessions fit one after the other.
//
// Every session T begins at or before takes(T), and every session S ends at or
// after core(S). So S can come before T only if core(S) <= takes(T). Of two
// sessions with cores that are not empty, this holds in one direction at most
// (but for cores of the same single instant, where both are the same): their
// order is forced, and it is the order of takes.
//
// Without leases every core is non-empty, and the condition is also enough:
// begin each session as early as the one before it allows, end it at core, and
// every operation keeps within its call and return.
func (s *sessions) order() ruling {
	before := -1 // the session with the latest core so far
	for i := range s.list {
		c := &s.list[i]
		if c.core < c.takes {
			continue
		}
		if before >= 0 && s.list[before].core > c.takes {
			return s.overlap(&s.list[before], c)
		}
		if before >= 0 && c.core == c.takes && s.list[before].takes == c.takes {
			s.doubt(&s.ops[c.first], "two holds are certain at one same instant only, and may come in either order")
		}
		before = i
	}
	return good()
}

func (s *sessions) overlap(a, b *session) ruling {
	op := func(i int32) *lockOp {
		if i < 0 {
			return nil
		}
		return &s.ops[i]
	}
	x, y := op(a.first), op(b.first)
	return contradiction([]*lockOp{x, op(a.end), y, op(b.end)},
		"%s held the lock from %s to %s at least, and %s from %s", x.name, at(a.takes), after(a.core), y.name, at(b.takes))
}

// refusals checks that somebody can have held the lock when an acquire was
// refused.
//
// The longest that session i can hold is from its call, or the core of the
// session before when that is later, to last, or takes of the session after
// when that is earlier. Where the two windows of a handover overlap, the lock
// passes on at one instant and is never free; where they do not, taking both
// extremes leaves it free between them only. The choices of different
// handovers are independent, so one schedule has all these longest holds at
// once, and a refusal is right exactly if it touches one of them.
//
// With leases a late end may rule out an early begin. Then a refusal that
// touches none is still wrong, but one that touches some proves nothing yet.
//
// A refusal that touches none may also be due to an unknown acquire that took
// the lock in the gap. One is enough for all refusals of a gap, the oldest is
// the best, and it serves one gap only: an owner that crashed keeps the lock
// for ever, and only the last gap has room for that; any other may give back.
func (s *sessions) refusals() ruling {
	if s.leased {
		for i := range s.list {
			if s.list[i].core < s.list[i].takes {
				return good() // no forced order
			}
		}
		if len(s.ghosts) > 0 {
			s.doubt(&s.ops[s.ghosts[0]], "an acquire with unknown outcome may have held the lock")
		}
	}
	free := gaps{s: s}
	i := 0
	for _, b := range s.busy {
		o := &s.ops[b]
		for i < len(s.list) && s.until(i) < o.call {
			i++
		}
		k := i
		for k < len(s.list) && s.r.reentrant && s.ops[s.list[k].first].owner == o.owner {
			k++ // it only touches a hold of its own owner, who would not be refused
		}
		if k < len(s.list) && s.from(k) <= o.ret {
			continue
		}
		free.need(i, o)
	}
	return free.rule()
}

// from and until bound the longest hold of session i. Both grow with i.
func (s *sessions) from(i int) int64 {
	c := &s.list[i]
	if i == 0 {
		return c.calls
	}
	return max(c.calls, s.list[i-1].core)
}

func (s *sessions) until(i int) int64 {
	c := &s.list[i]
	if i+1 == len(s.list) {
		return c.last
	}
	return min(c.last, s.list[i+1].takes)
}

// gaps are the certainly free times that contain refusals.
type gaps struct {
	s     *sessions
	needs []need
}

type need struct {
	gap int
	by  *lockOp // the refusal in it that returned first
}

// need notes a refusal in the gap before session i.
func (g *gaps) need(i int, o *lockOp) {
	if n := len(g.needs); n > 0 && g.needs[n-1].gap == i {
		if o.ret < g.needs[n-1].by.ret {
			g.needs[n-1].by = o
		}
		return
	}
	// Refusals come by call, so a gap never comes again once a later one has:
	// a refusal lies inside its gap.
	g.needs = append(g.needs, need{i, o})
}

// rule gives every gap a ghost: gaps in order of time, each any ghost that was
// called in time. A ghost that was in time for a gap is so for all later ones,
// so it is enough to count.
func (g *gaps) rule() ruling {
	ghosts := g.s.ghosts // by call
	available, seen := 0, 0
	if len(g.needs) > 0 && g.s.open != "" {
		// Operations that touch may let a ghost answer for its own owner.
		return undecided(g.s.open, g.s.openOp)
	}
	for _, n := range g.needs {
		last := n.gap == len(g.s.list)
		settled := false
		for ; seen < len(ghosts) && g.s.ops[ghosts[seen]].call <= n.by.ret; seen++ {
			if !g.s.ops[ghosts[seen]].crashed {
				available++
			}
		}
		if last {
			for _, k := range ghosts[:seen] {
				settled = settled || g.s.ops[k].crashed
			}
		}
		if settled {
			continue
		}
		if available--; available < 0 {
			return g.wrong(n)
		}
	}
	return good()
}

func (g *gaps) wrong(n need) ruling {
	cause := []*lockOp{n.by}
	held := "nobody had held it before"
	if n.gap > 0 {
		c := &g.s.list[n.gap-1]
		cause = append(cause, &g.s.ops[c.first])
		if c.end >= 0 {
			cause = append(cause, &g.s.ops[c.end])
		}
		held = "the last hold before was over by " + at(g.s.until(n.gap-1))
	}
	next := "nobody took it after"
	if n.gap < len(g.s.list) {
		c := &g.s.list[n.gap]
		cause = append(cause, &g.s.ops[c.first])
		next = "the next began no earlier than " + at(g.s.from(n.gap))
	}
	return contradiction(cause, "%s was refused the lock as busy between %s and %s, and it was free: %s, %s",
		n.by.name, at(n.by.call), at(n.by.ret), held, next)
}
