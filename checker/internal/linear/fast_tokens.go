package linear

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// Fencing tokens grow from hold to hold. Where every hold shows its token, the tokens
// give the order of the sessions. It needs no cores, and any mix of leases will do.

// byTokens puts the sessions in the order of their tokens, if all have one.
func (s *sessions) byTokens() Ruling {
	var some, none *session
	for i := range s.list {
		if c := &s.list[i]; c.token > 0 {
			some = c
		} else {
			none = c
		}
	}
	switch {
	case some == nil:
		return good()
	case none != nil:
		return s.someTokens()
	}
	s.sortSessions(func(a, b session) int { return cmp.Compare(a.token, b.token) })
	// Each session begins no earlier than the one before it ended.
	now, latest := longPast, 0
	for i := range s.list {
		c := &s.list[i]
		b := &s.list[latest]
		switch {
		case i > 0 && c.token == s.list[i-1].token:
			b = &s.list[i-1]
			return contradiction([]*Op{&s.ops[b.first], &s.ops[c.first]}, "%s and %s were granted the lock with the same token %d",
				s.name(&s.ops[b.first]), s.name(&s.ops[c.first]), c.token)
		case now > c.takes:
			return contradiction([]*Op{&s.ops[c.first], &s.ops[b.first], s.endingOf(b)},
				"%s was granted the lock with token %d by %s, and the hold with the smaller token %d of %s lasted until %s at least",
				s.name(&s.ops[c.first]), c.token, history.At(c.takes), b.token, s.name(&s.ops[b.first]), history.At(now))
		}
		if t := max(c.calls, c.core); c.core >= c.takes && t > now {
			now, latest = t, i
		} else if c.calls > now {
			now, latest = c.calls, i
		}
	}
	return good()
}

func (s *sessions) endingOf(c *session) *Op {
	if c.end < 0 {
		return nil
	}
	return &s.ops[c.end]
}

// someTokens makes sure that tokens do not contradict the order by replies.
func (s *sessions) someTokens() Ruling {
	var last *session
	for i := range s.list {
		c := &s.list[i]
		if c.token == 0 {
			continue
		}
		if last != nil && c.token <= last.token {
			return undecided("the holds with a token do not come in the order in which they were seen", &s.ops[last.first], &s.ops[c.first])
		}
		last = c
	}
	return good()
}

// tokenOrder has for every granted token but the smallest the greatest below it. A grant
// comes after the one before it: that spares the search all other orders.
func tokenOrder(ops []Op) map[uint64]uint64 {
	var tokens []uint64
	for i := range ops {
		if o := &ops[i]; o.Token > 0 && o.Kind == GotLock {
			tokens = append(tokens, o.Token)
		}
	}
	slices.Sort(tokens)
	before := map[uint64]uint64{}
	for i, t := range slices.Compact(tokens) {
		if i > 0 {
			before[t] = tokens[i-1]
		}
	}
	return before
}
