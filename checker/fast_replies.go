package checker

import "github.com/holdfast-go/holdfast/history"

// reply takes one reply into account. With every reply of the owner known, the
// count before it is either what the replies so far add up to, or 0 because
// the lease has ended; only one of the two can explain it.
func (s *sessions) reply(i int32, o *lockOp, w *ownerRun) ruling {
	switch o.kind {
	case gotLock:
		switch {
		case w.count == 0 && o.count <= 1:
			s.begin(i, o, w)
			return good()
		case w.count == 0:
			return contradiction([]*lockOp{s.before(w), o}, "%s was granted hold %d and held nothing before", s.name(o), o.count)
		case s.r.reentrant && o.count == w.count+1:
			return s.alive(i, o, w)
		case s.r.reentrant && o.count == 0:
			if w.soonest < forever {
				return undecided("an acquire does not say whether the hold before it had ended", o)
			}
			return s.alive(i, o, w)
		case o.count > 1:
			return contradiction([]*lockOp{s.before(w), o}, "%s was granted hold %d on top of %d", s.name(o), o.count, w.count)
		}
		v := s.ended(i, o, w)
		s.begin(i, o, w)
		return v
	case foundBusy:
		switch {
		case w.count == 0:
			s.busy = append(s.busy, i)
		case s.r.reentrant:
			v := s.ended(i, o, w)
			s.busy = append(s.busy, i)
			return v
		case s.leased:
			s.busy = append(s.busy, i)
		}
	case gaveBack:
		if w.count == 0 || o.count != w.count-1 {
			return contradiction([]*lockOp{s.before(w), o}, "%s released with %d holds left, and had %d before", s.name(o), o.count, w.count)
		}
		return s.alive(i, o, w)
	case heldNothing, foundLost:
		if w.count > 0 {
			return s.ended(i, o, w)
		}
	case inspected:
		switch {
		case o.count == w.count && w.count > 0:
			return s.alive(i, o, w)
		case o.count == 0 && w.count > 0:
			return s.ended(i, o, w)
		case o.count != w.count:
			return contradiction([]*lockOp{s.before(w), o}, "%s saw %d holds and had %d", s.name(o), o.count, w.count)
		}
	case maybeGot:
		w.unclear = true
		s.leased = s.leased || o.lease < forever
		if o.ret < forever {
			s.doubt(o, "an acquire with unknown outcome took effect at a known time, if at all")
		} else if w.count == 0 {
			s.ghosts = append(s.ghosts, i)
		} else if min(w.soonest, w.base) < forever {
			s.doubt(o, "an acquire with unknown outcome may have come after the hold's end, or have prolonged it")
		}
	case maybeGave:
		w.unclear = true
		if w.count == 1 {
			c := &s.list[w.session]
			c.end, c.core, c.last = i, min(o.call, max(w.lastCall, w.soonest)), w.latest
			w.count = 0
		} else if w.count > 1 && min(w.soonest, w.base) < forever {
			s.doubt(o, "a release with unknown outcome may have changed the lease of the holds that remain")
		}
	}
	return good()
}

func (s *sessions) before(w *ownerRun) *lockOp {
	if w.last < 0 {
		return nil
	}
	return &s.ops[w.last]
}

func (s *sessions) begin(i int32, o *lockOp, w *ownerRun) {
	s.member[i] = int32(len(s.list))
	w.count, w.session, w.lastCall, w.refresh = 1, int32(len(s.list)), o.call, i
	w.soonest = add(add(o.call, o.lease), -s.slack(o))
	w.base = add(add(o.asked, o.lease), -s.slack(o))
	w.latest = add(add(o.ret, o.lease), s.slack(o))
	w.longest, w.giveUp = o.lease, s.r.giveUp(o)
	if o.renewed {
		w.latest = forever
	}
	s.leased = s.leased || o.lease < forever
	s.list = append(s.list, session{
		first: i, end: -1, calls: o.call, takes: o.ret, core: forever, last: forever,
		lease: o.lease, renewed: o.renewed, token: o.token,
	})
}

// slack is 0 for holds that never end: nothing is added to forever.
func (s *sessions) slack(o *lockOp) int64 {
	if o.lease >= forever {
		return 0
	}
	return s.r.slack
}

// alive notes a reply that shows the session still running.
func (s *sessions) alive(i int32, o *lockOp, w *ownerRun) ruling {
	c := &s.list[w.session]
	s.member[i] = w.session
	v := good()
	if o.call > w.latest {
		v = contradiction([]*lockOp{&s.ops[c.first], &s.ops[w.refresh], o},
			"%s still held the lock at %s, and its lease was over by %s", s.name(o), history.At(o.call), history.At(w.latest))
	}
	w.lastCall = o.call
	switch o.kind {
	case gotLock:
		if c.token > 0 && o.token > 0 && c.token != o.token {
			v = contradiction([]*lockOp{&s.ops[c.first], o}, "the token of %s changed from %d to %d within one hold", s.name(o), c.token, o.token)
		}
		c.token = max(c.token, o.token)
		w.count++
		w.longest = max(w.longest, o.lease)
		w.giveUp = min(w.giveUp, s.r.giveUp(o))
		w.soonest = max(w.soonest, add(add(o.call, o.lease), -s.slack(o)))
		if l := add(add(o.ret, o.lease), s.slack(o)); l > w.latest || o.renewed {
			w.latest, w.refresh = l, i
		}
		if o.renewed {
			w.latest, c.renewed = forever, true
		}
		s.leased = s.leased || o.lease < forever
	case gaveBack:
		if w.count--; w.count == 0 {
			c.end, c.released, c.core, c.last, c.soonest = i, true, o.call, min(o.ret, w.latest), w.soonest
			return v
		}
		w.soonest = min(w.soonest, w.base)
		if l := add(o.ret, w.longest); w.latest < forever && add(l, s.r.slack) > w.latest {
			w.latest, w.refresh = add(l, s.r.slack), i
		}
	}
	return v
}

// ended notes a reply that shows that the session is over although its owner
// did not release it.
func (s *sessions) ended(i int32, o *lockOp, w *ownerRun) ruling {
	c := &s.list[w.session]
	w.count = 0
	soonest := w.soonest
	if o.kind == foundLost {
		// The owner may have called the hold lost by its own clock, and the
		// lock may or may not have let go then.
		soonest = min(soonest, w.giveUp)
		if soonest < forever {
			s.doubt(o, "a hold that its owner called lost may still be there")
		}
	}
	c.end, c.core, c.last, c.soonest = i, max(w.lastCall, soonest), min(o.ret, w.latest), soonest
	if c.core > o.ret {
		return contradiction([]*lockOp{&s.ops[c.first], &s.ops[w.refresh], o},
			"%s no longer held the lock at %s, and nothing ended its hold before %s", s.name(o), history.At(o.ret), after(c.core))
	}
	return good()
}
