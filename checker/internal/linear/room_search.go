package linear

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"
)

// Bounds of the search in rooms.
const (
	mostOpen   = 64     // operations at once
	fewScenes  = 32     // of the first look
	mostScenes = 20_000 // at one return
)

// byRooms is the judge for locks that have room for several holds. It follows the calls
// and returns in order of time, and keeps the scenes that they allow. At a return it lets
// operations take effect until that one has, as few as possible first. The method is
// just-in-time linearization; see Lowe, "Testing for linearizability" (2017).
//
// The first look keeps a few scenes: if one remains at the end, the history is legal. Then
// it counts the holds that were certainly there at once. The second look keeps all scenes.
// It is exact within its bounds, and undecided beyond them.
func byRooms(ops []Op, r Rules, budget time.Duration) Ruling {
	deadline := time.Now().Add(budget)
	if v := followRooms(ops, r, true, deadline); v.Outcome == OutcomeOK {
		return v
	}
	if v := tooManyCores(ops, r); v.Outcome == Violated {
		return v
	}
	return followRooms(ops, r, false, deadline)
}

// followRooms keeps a few scenes at each return, or all. Its ruling is violated only if it
// left none out.
func followRooms(ops []Op, r Rules, few bool, deadline time.Time) Ruling {
	type event struct {
		t    int64
		ret  bool
		slot *Op
	}
	events := make([]event, 0, 2*len(ops))
	for i := range ops {
		events = append(events, event{ops[i].Call, false, &ops[i]})
		if ops[i].Return < Forever {
			events = append(events, event{ops[i].Return, true, &ops[i]})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		if a.t == b.t && a.ret != b.ret {
			return map[bool]int{false: -1, true: 1}[a.ret]
		}
		return cmp.Compare(a.t, b.t)
	})
	s := roomSearch{rules: r, scenes: []scene{{}}, few: few}
	for _, e := range events {
		if !e.ret {
			if !s.open(e.slot) {
				return undecided("more operations are open at once than the search can follow", e.slot)
			}
			continue
		}
		if !s.finish(e.slot, deadline) {
			return undecided("the operations have too many orders", e.slot)
		}
		if len(s.scenes) == 0 && s.dropped {
			return undecided("the search left orders out", e.slot)
		}
		if len(s.scenes) == 0 {
			return Ruling{Outcome: Violated, Ops: []int64{e.slot.ID}, Why: "no order of the operations allows that one", At: e.t}
		}
	}
	return good()
}

// scene is a state of the search: the room, and which of the open operations have
// taken effect.
type scene struct {
	done uint64
	room room
}

type roomSearch struct {
	rules   Rules
	few     bool // keeps fewScenes at each return
	dropped bool // scenes, because they were more
	slots   [mostOpen]*Op
	scenes  []scene // after the events so far
	key     []byte
}

// meet adds a scene to those that were met, and reports whether it is a new one.
func (s *roomSearch) meet(p scene, met map[string]bool) bool {
	s.key = p.room.appendKey(binary.BigEndian.AppendUint64(s.key[:0], p.done))
	if met[string(s.key)] {
		return false
	}
	met[string(s.key)] = true
	return true
}

func (s *roomSearch) open(o *Op) bool {
	i := slices.Index(s.slots[:], nil)
	if i < 0 {
		return false
	}
	s.slots[i] = o
	return true
}

// finish keeps the scenes in which o has taken effect, those with the fewest other
// operations first. It reports whether it kept to its bounds.
func (s *roomSearch) finish(o *Op, deadline time.Time) bool {
	i := slices.Index(s.slots[:], o)
	bit := uint64(1) << i
	seen, kept := map[string]bool{}, map[string]bool{}
	var out []scene
	var next []room
	for todo, n := s.scenes, 0; len(todo) > 0; n++ {
		p := todo[0]
		todo = todo[1:]
		if p.done&bit != 0 {
			p.done &^= bit
			if s.meet(p, kept) {
				out = append(out, p)
			}
			if s.few && len(out) == fewScenes {
				s.dropped = true
				break
			}
			continue
		}
		if n%64 == 0 && time.Now().After(deadline) {
			return false
		}
		if s.few && len(seen) > fewScenes*fewScenes {
			s.dropped = true
			break
		}
		if len(seen) > mostScenes {
			return false
		}
		alone := s.few && len(s.rules.enter(next[:0], p.room, o)) > 0
		s.dropped = s.dropped || alone
		for j, x := range s.slots {
			if x == nil || p.done&(1<<j) != 0 || x != o && (alone || !s.helps(x, p)) {
				continue
			}
			next = s.rules.enter(next[:0], p.room, x)
			for _, to := range next {
				if x.Return == Forever && slices.Equal(to.holds, p.room.holds) {
					continue // it can have no effect later as well
				}
				if q := s.refuse(scene{p.done | 1<<j, to}); s.meet(q, seen) {
					todo = append(todo, q)
				}
			}
		}
	}
	s.slots[i] = nil
	s.scenes = out
	s.forgetTimes(o.Return)
	return true
}

// refuse lets refusals take effect as soon as they can, because they change nothing.
func (s *roomSearch) refuse(p scene) scene {
	for i, x := range s.slots {
		if x != nil && x.Kind == FoundBusy && x.Call <= p.room.now && len(s.rules.enter(nil, p.room, x)) > 0 {
			p.done |= 1 << i
		}
	}
	return p
}

// helps reports whether an operation that may have had no effect can help an open one. A hold
// explains a refusal, and its end makes room for a hold. Without such help, it can take
// effect later as well.
func (s *roomSearch) helps(o *Op, p scene) bool {
	free := o.Kind == MaybeGave
	if !free && o.Kind != MaybeGot && o.Kind != TookAndGave {
		return true
	}
	for i, x := range s.slots {
		if x == nil || x == o || p.done&(1<<i) != 0 {
			continue
		}
		if x.Kind > MaybeGot { // an operation on the hold that o may be or end
			if x.Owner == o.Owner && o.Kind != TookAndGave {
				return true
			}
		} else if (x.Kind == FoundBusy) != free {
			return true
		}
	}
	return false
}

// forgetTimes raises the time of each scene to the earliest at which another operation can
// still take effect, so that equal scenes meet. Those that are not open yet are called
// later than now.
func (s *roomSearch) forgetTimes(now int64) {
	for i := range s.scenes {
		p := &s.scenes[i]
		earliest := now
		for j, x := range s.slots {
			if x != nil && p.done&(1<<j) == 0 {
				earliest = min(earliest, x.Call)
			}
		}
		p.room.now = max(p.room.now, earliest)
	}
}
