package linear

import (
	"math"
	"math/bits"
	"slices"
)

// keptOpen is the number of operations of one sort the search keeps open at first.
const keptOpen = 2

const parked = math.MaxInt16

// likeness says which operations of unknown outcome are as good as one another,
// but for their call. An older one allows whatever a younger one does.
type likeness struct {
	owner            int32
	kind             Kind
	renewed, crashed bool
	lease            int64
}

func like(o *Op) likeness {
	return likeness{o.Owner, o.Kind, o.Renewed, o.Crashed, o.Lease}
}

// strays gives one owner to some acquires of unknown outcome: those that are the last of
// owners who held nothing before and never were unclear. No later operation depends on
// their names.
func strays(ops []Op, r Rules) []Op {
	ops = slices.Clone(sorted(ops))
	type owner struct {
		last  int32
		ret   int64 // of what it did before last
		holds bool  // or may
		gone  bool  // was unclear before
	}
	var owners []owner
	for i := range ops {
		o := &ops[i]
		for int(o.Owner) >= len(owners) {
			owners = append(owners, owner{last: -1, ret: longPast})
		}
		w := &owners[o.Owner]
		if w.last >= 0 {
			w.ret, w.gone = max(w.ret, ops[w.last].Return), w.gone || ops[w.last].unclear()
		}
		w.last = int32(i)
		switch o.Kind {
		case GotLock, FoundLost, TookAndGave:
			w.holds = true
		case GaveBack, Inspected:
			w.holds = o.Count > 0
		case HeldNothing:
			w.holds = false
		case FoundBusy:
			w.holds = w.holds && !r.Reentrant
		}
	}
	for _, w := range owners {
		if w.last >= 0 && !w.holds && !w.gone {
			o := &ops[w.last]
			if o.Kind == MaybeGot && o.unclear() && w.ret < o.Call {
				o.Owner, o.stray = int32(len(owners)), true
			}
		}
	}
	return ops
}

// unclear reports whether no reply shows if and when an operation took effect.
func (o *Op) unclear() bool {
	return (o.Kind == MaybeGot || o.Kind == MaybeGave) && o.Return >= Forever
}

// parking keeps operations of unknown outcome away from the search while it has enough
// older ones of the same sort. To leave one out can only make a history look illegal, and
// only if some situation has used all that the search has. missed says that there was
// such a one.
type parking struct {
	room   int
	lanes  map[likeness]*lane
	full   []*lane // those with operations that wait, in the order they filled
	missed bool
}

// lane has the operations that are as good as one another.
type lane struct {
	open    opSet // slots of those that the search has
	n       int   // how many
	waiting []*Op
}

// admitOp reports whether an operation may be opened now; if not, it waits.
func (p *parking) admitOp(o *Op) bool {
	if p.lanes == nil {
		p.lanes = map[likeness]*lane{}
	}
	l := p.lanes[like(o)]
	if l == nil {
		l = &lane{}
		p.lanes[like(o)] = l
	}
	if l.n < p.room {
		l.n++
		return true
	}
	if l.waiting = append(l.waiting, o); len(l.waiting) == 1 {
		p.full = append(p.full, l)
	}
	return false
}

// noteWanted notes a situation that may want an operation that waits.
func (p *parking) noteWanted(c *situation) {
	for _, l := range p.full {
		if l.open.within(&c.done) {
			p.missed = true
		}
	}
}

// admitParked takes operations that have taken effect in every situation away, and
// lets those that waited for them in.
func (s *search) admitParked() {
	used := s.optional
	for i := range s.now {
		used = used.and(&s.now[i].done)
	}
	for w := range used {
		for left := used[w]; left != 0; left &= left - 1 {
			s.replaceOp(w*64 + bits.TrailingZeros64(left))
		}
	}
	if s.returned++; s.returned%32 == 0 && s.left != nil {
		s.dropReleases()
	}
}

// dropReleases takes releases away whose owners hold nothing and never will.
func (s *search) dropReleases() {
	busy := map[int32]int{}
	for w := range s.open {
		for left := s.open[w]; left != 0; left &= left - 1 {
			busy[s.ops[w*64+bits.TrailingZeros64(left)].Owner]++
		}
	}
	for i := range s.now {
		busy[s.now[i].state.holder] += 2
	}
	for w := range s.optional {
		for left := s.optional[w]; left != 0; left &= left - 1 {
			slot := w*64 + bits.TrailingZeros64(left)
			if o := s.ops[slot]; o.Kind == MaybeGave && busy[o.Owner] == 1 && s.left[o.Owner] == 0 {
				s.replaceOp(slot)
			}
		}
	}
}

// replaceOp frees the slot of an operation that is used up or useless.
func (s *search) replaceOp(slot int) {
	o := s.ops[slot]
	if !o.unclear() {
		return
	}
	s.removeOp(slot)
	for i := range s.now {
		s.now[i].done.remove(slot)
	}
	l := s.parking.lanes[like(o)]
	l.open.remove(slot)
	if l.n--; len(l.waiting) == 0 {
		return
	}
	s.putOp(l.waiting[0])
	l.n++
	if l.waiting = l.waiting[1:]; len(l.waiting) == 0 {
		s.parking.full = slices.DeleteFunc(s.parking.full, func(f *lane) bool { return f == l })
	}
}
