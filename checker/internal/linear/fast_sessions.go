package linear

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
)

// A session is one owner's hold from the acquire that takes the count from 0
// to 1 until the count is 0 again. Owners do one thing after the other, so
// their own replies show when each session begins and how it ends:
//
//   - by a release that succeeded,
//   - by a release whose outcome is unknown, if that is the owner's last word,
//   - by the end of the lease, which the owner's next reply may show, or nothing.
type session struct {
	first, end   int32 // the acquire; the op that ended it or showed the end, -1 for none
	released     bool  // end is a release that succeeded
	calls, takes int64 // call and return of first
	// The session certainly holds the lock from takes to core (the core is
	// empty when core < takes), and not after last.
	core, last int64
	lease      int64
	renewed    bool
	soonest    int64  // the lease does not end before this
	token      uint64 // 0 when no reply has it
}

type ownerRun struct {
	count    int32
	session  int32 // the running one; meaningful while count > 0
	last     int32 // the latest op, -1 for none
	lastCall int64 // call of the latest op that shows the hold alive
	soonest  int64 // bounds on the end of the lease
	latest   int64
	base     int64 // what soonest falls back to after a partial release
	longest  int64
	giveUp   int64
	refresh  int32 // the op that sets latest
	unclear  bool  // its latest op has an unknown outcome
}

// sessions are the sessions of one lock, by the return of their first op once
// sorted, and what does not belong to any.
type sessions struct {
	r      Rules
	ops    []Op // by call
	owners []ownerRun
	list   []session
	member []int32 // session of each op; -1 for none
	busy   []int32 // refused acquires while their owner held nothing
	// phantoms are acquires that may have held the lock for a while without leaving
	// another trace. They are unknown ones by owners that held nothing and went no
	// further, and failed and stray ones, until they returned.
	phantoms []int32

	leased bool // some hold may end by itself
	// open says why an illegal finding would not be safe: something may have
	// happened that the sessions do not show. Legal findings stay safe.
	open   string
	openOp *Op
}

// bySessions is the near-linear step of the fast judge.
func bySessions(ops []Op, r Rules) Ruling {
	if r.Loose {
		return undecided("several servers: a refusal may come from another owner's failed try")
	}
	s := &sessions{r: r, ops: ops}
	if v := s.readReplies(); v.Outcome != OutcomeOK {
		return s.unlessInDoubt(v)
	}
	s.closeSessions()
	if v := s.byTokens(); v.Outcome != OutcomeOK {
		return s.unlessInDoubt(v)
	}
	if v := s.checkOrder(); v.Outcome != OutcomeOK {
		return s.unlessInDoubt(v)
	}
	if v := s.checkRefusals(); v.Outcome != OutcomeOK {
		return s.unlessInDoubt(v)
	}
	if s.leased || len(s.phantoms) > 0 || s.open != "" {
		return s.chainOrder()
	}
	return good()
}

// unlessInDoubt withholds an illegal finding while something is open.
func (s *sessions) unlessInDoubt(v Ruling) Ruling {
	if v.Outcome == Violated && s.open != "" {
		return undecided(s.open, s.openOp)
	}
	return v
}

func (s *sessions) addDoubt(o *Op, why string) {
	if s.open == "" {
		s.open, s.openOp = why, o
	}
}

func (s *sessions) name(o *Op) string { return s.r.Owners.name(o.Owner) }

// readReplies goes through the operations once and cuts every owner's into sessions.
func (s *sessions) readReplies() Ruling {
	s.ops = sorted(s.ops)
	s.member = make([]int32, len(s.ops))
	first := 0
	for i := range s.ops {
		if o := &s.ops[i]; o.Kind == GotLock && o.Count <= 1 {
			first++
		}
	}
	s.list = make([]session, 0, first)
	s.busy = make([]int32, 0, len(s.ops)/2)
	found := good()
	for i := range s.ops {
		o := &s.ops[i]
		s.member[i] = -1
		if o.Owner == 0 {
			continue
		}
		for int(o.Owner) >= len(s.owners) {
			s.owners = append(s.owners, ownerRun{last: -1})
		}
		if o.Kind == TookAndGave || o.stray {
			// It may have done nothing, which is always allowed.
			s.addDoubt(o, "a failed acquire may have held the lock for a while")
			s.phantoms = append(s.phantoms, int32(i))
			s.leased = s.leased || o.stray && o.Lease < Forever
			continue
		}
		w := &s.owners[o.Owner]
		if w.last >= 0 {
			p := &s.ops[w.last]
			switch {
			case w.unclear:
				return undecided("its owner went on after an operation with unknown outcome", p, o)
			case p.Return > o.Call:
				return undecided("operations of one owner overlap", p, o)
			case p.Return == o.Call:
				s.addDoubt(o, "operations of one owner touch, and may count as concurrent")
			}
		}
		if o.Kind == MaybeGave && o.Return < Forever {
			return undecided("a release with unknown outcome took effect at a known time, if at all", o)
		}
		v := s.takeReply(int32(i), o, w)
		if v.Outcome == Unknown {
			return v
		}
		if v.Outcome == Violated && found.Outcome == OutcomeOK {
			found = v // read on: a doubt may follow that speaks against it
		}
		w.last = int32(i)
	}
	return found
}

func after(t int64) string {
	if t >= Forever {
		return "the end"
	}
	return history.At(t)
}

func (s *sessions) closeSessions() {
	for k := range s.owners {
		if w := &s.owners[k]; w.count > 0 {
			c := &s.list[w.session]
			c.core, c.last, c.soonest = max(w.lastCall, w.soonest), w.latest, w.soonest
		}
	}
	// Ties: a core of one instant comes first. Two such may take either order.
	s.sortSessions(byTake)
}

func (s *sessions) sortSessions(less func(a, b session) int) {
	if slices.IsSortedFunc(s.list, less) {
		return
	}
	at := make([]int32, len(s.list))
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortStableFunc(at, func(a, b int32) int { return less(s.list[a], s.list[b]) })
	list, to := make([]session, len(at)), make([]int32, len(at))
	for i, from := range at {
		list[i], to[from] = s.list[from], int32(i)
	}
	s.list = list
	for i, m := range s.member {
		if m >= 0 {
			s.member[i] = to[m]
		}
	}
}

func byTake(a, b session) int {
	if c := cmp.Compare(a.takes, b.takes); c != 0 {
		return c
	}
	return cmp.Compare(a.core, b.core)
}
