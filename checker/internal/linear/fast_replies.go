package linear

import "github.com/holdfast-go/holdfast/checker/history"

// takeReply takes one reply into account. With every reply of the owner known, the count
// before it is the sum of the replies so far, or 0 after the lease; only one of the two
// can explain it.
func (s *sessions) takeReply(i int32, o *Op, w *ownerRun) Ruling {
	switch o.Kind {
	case GotLock:
		switch {
		case w.count == 0 && o.Count <= 1:
			s.beginSession(i, o, w)
			return good()
		case w.count == 0:
			return contradiction([]*Op{s.opBefore(w), o}, "%s was granted hold %d and held nothing before", s.name(o), o.Count)
		case s.r.Reentrant && o.Count == w.count+1:
			return s.noteAlive(i, o, w)
		case s.r.Reentrant && o.Count == 0:
			if w.soonest < Forever {
				return undecided("an acquire does not say whether the hold before it had ended", o)
			}
			return s.noteAlive(i, o, w)
		case o.Count > 1:
			return contradiction([]*Op{s.opBefore(w), o}, "%s was granted hold %d on top of %d", s.name(o), o.Count, w.count)
		}
		v := s.noteEnd(i, o, w)
		s.beginSession(i, o, w)
		return v
	case FoundBusy:
		switch {
		case w.count == 0:
			s.busy = append(s.busy, i)
		case s.r.Reentrant:
			v := s.noteEnd(i, o, w)
			s.busy = append(s.busy, i)
			return v
		case s.leased:
			s.busy = append(s.busy, i)
		}
	case GaveBack:
		if w.count == 0 || o.Count != w.count-1 {
			return contradiction([]*Op{s.opBefore(w), o}, "%s released with %d holds left, and had %d before", s.name(o), o.Count, w.count)
		}
		return s.noteAlive(i, o, w)
	case HeldNothing, FoundLost:
		if w.count > 0 {
			return s.noteEnd(i, o, w)
		}
	case Inspected:
		switch {
		case o.Count == w.count && w.count > 0:
			return s.noteAlive(i, o, w)
		case o.Count == 0 && w.count > 0:
			return s.noteEnd(i, o, w)
		case o.Count != w.count:
			return contradiction([]*Op{s.opBefore(w), o}, "%s saw %d holds and had %d", s.name(o), o.Count, w.count)
		}
	case MaybeGot:
		w.unclear = true
		s.leased = s.leased || o.Lease < Forever
		if o.Return < Forever {
			s.addDoubt(o, "an acquire with unknown outcome took effect at a known time, if at all")
		} else if w.count == 0 {
			s.phantoms = append(s.phantoms, i)
		} else if min(w.soonest, w.base) < Forever {
			s.addDoubt(o, "an acquire with unknown outcome may have come after the hold's end, or have prolonged it")
		}
	case MaybeGave:
		w.unclear = true
		if w.count == 1 {
			c := &s.list[w.session]
			c.end, c.core, c.last = i, min(o.Call, max(w.lastCall, w.soonest)), w.latest
			w.count = 0
		} else if w.count > 1 && min(w.soonest, w.base) < Forever {
			s.addDoubt(o, "a release with unknown outcome may have changed the lease of the holds that remain")
		}
	}
	return good()
}

func (s *sessions) opBefore(w *ownerRun) *Op {
	if w.last < 0 {
		return nil
	}
	return &s.ops[w.last]
}

func (s *sessions) beginSession(i int32, o *Op, w *ownerRun) {
	s.member[i] = int32(len(s.list))
	w.count, w.session, w.lastCall, w.refresh = 1, int32(len(s.list)), o.Call, i
	w.soonest = add(add(o.Call, o.Lease), -s.slackOf(o))
	w.base = add(add(o.Asked, o.Lease), -s.slackOf(o))
	w.latest = add(add(o.Return, o.Lease), s.slackOf(o))
	w.longest, w.giveUp = o.Lease, s.r.giveUp(o)
	if o.Renewed {
		w.latest = Forever
	}
	s.leased = s.leased || o.Lease < Forever
	s.list = append(s.list, session{
		first: i, end: -1, calls: o.Call, takes: o.Return, core: Forever, last: Forever,
		lease: o.Lease, renewed: o.Renewed, token: o.Token,
	})
}

// slackOf is 0 for holds that never end: nothing is added to forever.
func (s *sessions) slackOf(o *Op) int64 {
	if o.Lease >= Forever {
		return 0
	}
	return s.r.Slack
}

// noteAlive notes a reply that shows the session still running.
func (s *sessions) noteAlive(i int32, o *Op, w *ownerRun) Ruling {
	c := &s.list[w.session]
	s.member[i] = w.session
	v := good()
	if o.Call > w.latest {
		v = contradiction([]*Op{&s.ops[c.first], &s.ops[w.refresh], o},
			"%s still held the lock at %s, and its lease was over by %s", s.name(o), history.At(o.Call), history.At(w.latest))
	}
	w.lastCall = o.Call
	switch o.Kind {
	case GotLock:
		if c.token > 0 && o.Token > 0 && c.token != o.Token {
			v = contradiction([]*Op{&s.ops[c.first], o}, "the token of %s changed from %d to %d within one hold", s.name(o), c.token, o.Token)
		}
		c.token = max(c.token, o.Token)
		w.count++
		w.longest = max(w.longest, o.Lease)
		w.giveUp = min(w.giveUp, s.r.giveUp(o))
		w.soonest = max(w.soonest, add(add(o.Call, o.Lease), -s.slackOf(o)))
		if l := add(add(o.Return, o.Lease), s.slackOf(o)); l > w.latest || o.Renewed {
			w.latest, w.refresh = l, i
		}
		if o.Renewed {
			w.latest, c.renewed = Forever, true
		}
		s.leased = s.leased || o.Lease < Forever
	case GaveBack:
		if w.count--; w.count == 0 {
			c.end, c.released, c.core, c.last, c.soonest = i, true, o.Call, min(o.Return, w.latest), w.soonest
			return v
		}
		w.soonest = min(w.soonest, w.base)
		if l := add(o.Return, w.longest); w.latest < Forever && add(l, s.r.Slack) > w.latest {
			w.latest, w.refresh = add(l, s.r.Slack), i
		}
	}
	return v
}

// noteEnd notes a reply that shows that the session is over although its owner
// did not release it.
func (s *sessions) noteEnd(i int32, o *Op, w *ownerRun) Ruling {
	c := &s.list[w.session]
	w.count = 0
	soonest := w.soonest
	if o.Kind == FoundLost {
		// The owner may have called the hold lost by its own clock, and the
		// lock may or may not have let go then.
		soonest = min(soonest, w.giveUp)
		if soonest < Forever {
			s.addDoubt(o, "a hold that its owner called lost may still be there")
		}
	}
	c.end, c.core, c.last, c.soonest = i, max(w.lastCall, soonest), min(o.Return, w.latest), soonest
	if c.core > o.Return {
		return contradiction([]*Op{&s.ops[c.first], &s.ops[w.refresh], o},
			"%s no longer held the lock at %s, and nothing ended its hold before %s", s.name(o), history.At(o.Return), after(c.core))
	}
	return good()
}
