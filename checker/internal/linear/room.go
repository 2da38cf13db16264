package linear

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The sequential lock with room for several holds: a semaphore, or a lock for readers and
// writers. Each hold has a weight, and all together weigh no more than the capacity. The
// model is that of lockState without counts and tokens. It forgets how the bounds of
// time depend on one another, so it may call an impossible history possible, and never
// the other way round.

// room is a state of such a lock. Its slices are never written to.
type room struct {
	now   int64  // the latest operation took effect at this time or later
	holds []hold // by owner, those of one owner as they came
}

// hold is a hold in a room.
type hold struct {
	owner, weight int32
	renewed       bool  // endHi says nothing
	endLo, endHi  int64 // bounds on its end
	giveUp        int64 // from here on its owner may have given it up for lost
}

// inTheWay is the weight of the holds that leave so much less room for o. Those of one
// owner combine by their maximum: who writes may read as well.
func (s room) inTheWay(o *Op) (sum int32) {
	for _, h := range s.holds {
		if h.owner != o.Other || o.Other == 0 {
			sum += h.weight
		}
	}
	return sum
}

func (s room) without(i int) room {
	return room{s.now, slices.Delete(slices.Clone(s.holds), i, i+1)}
}

func (s room) with(h hold) room {
	i, _ := slices.BinarySearchFunc(s.holds, h.owner+1, func(x hold, owner int32) int { return int(x.owner - owner) })
	return room{s.now, slices.Insert(slices.Clone(s.holds), i, h)}
}

// at is the room at a time or later, without the holds that must have ended by then.
func (s room) at(now, slack int64) room {
	over := func(h hold) bool { return !h.renewed && add(h.endHi, slack) < now }
	if slices.ContainsFunc(s.holds, over) {
		return room{now, slices.DeleteFunc(slices.Clone(s.holds), over)}
	}
	return room{now, s.holds}
}

// ended is the room after the ith hold ended by itself, by the end of o.
func (r *Rules) ended(s room, i int, o *Op) (room, bool) {
	h := s.holds[i]
	if h.endLo >= Forever {
		return s, false
	}
	end := max(s.now, add(h.endLo, -r.Slack))
	t := s.without(i)
	t.now = end
	return t, end <= o.Return
}

// enter returns the rooms that may follow s when o takes effect.
func (r *Rules) enter(out []room, s room, o *Op) []room {
	now := max(s.now, o.Call)
	if now > o.Return {
		return out
	}
	s = s.at(now, r.Slack)
	switch o.Kind {
	case GotLock:
		return r.admit(out, s, o, 0)
	case TookAndGave, MaybeGot:
		return r.admit(append(out, s), s, o, 0)
	case FoundBusy:
		if r.Loose || s.inTheWay(o)+o.Weight > r.Capacity {
			out = append(out, s)
		}
		return out
	case Inspected:
		return append(out, s)
	}
	return r.leave(out, s, o)
}

// admit lets o have a hold, after the end of as few of the others as make room for it. Of
// those it lets the ith and later ones end.
func (r *Rules) admit(out []room, s room, o *Op, i int) []room {
	if s.inTheWay(o)+o.Weight <= r.Capacity {
		h := hold{owner: o.Owner, weight: o.Weight, renewed: o.Renewed, endLo: add(s.now, o.Lease), endHi: add(o.Return, o.Lease), giveUp: r.giveUp(o)}
		if o.MayEnd > 0 {
			h.endLo = min(h.endLo, max(s.now, o.MayEnd))
		}
		switch {
		case o.Kind == TookAndGave:
			h.endLo, h.endHi, h.renewed = longPast, o.Return, false
		case o.Kind == MaybeGot && !o.Crashed:
			h.endLo = longPast // it may be taken back when its client hears of it
		case o.Kind == MaybeGot:
			h.endLo = min(h.endLo, add(o.Call, o.Lease)) // it may have begun before anything shows it
		}
		return append(out, s.with(h))
	}
	for ; i < len(s.holds); i++ {
		if t, can := r.ended(s, i, o); can {
			out = r.admit(out, t, o, i)
		}
	}
	return out
}

// leave lets a release of any outcome take effect.
func (r *Rules) leave(out []room, s room, o *Op) []room {
	held := false
	for i, h := range s.holds {
		if h.owner != o.Owner {
			continue
		}
		held = true
		switch o.Kind {
		case GaveBack, MaybeGave:
			out = append(out, s.without(i))
		default: // the owner was refused
			if t, can := r.ended(s, i, o); can {
				out = append(out, t)
			}
			if r.Loose {
				out = append(out, s.without(i))
			}
			if now := max(s.now, h.giveUp); o.Kind == FoundLost && now <= o.Return {
				gone := s.without(i)
				gone.now = now
				out = append(out, room{now, s.holds}, gone)
			}
		}
	}
	if r.Loose || !held && o.Kind != GaveBack {
		out = append(out, s)
	}
	return out
}

// appendKey appends what differs between different rooms alone.
func (s room) appendKey(b []byte) []byte {
	number := binary.BigEndian.AppendUint64
	b = number(number(b, uint64(s.now)), uint64(len(s.holds)))
	for _, h := range s.holds {
		b = number(number(b, uint64(h.owner)<<32|uint64(h.weight)), uint64(h.endLo))
		b = strconv.AppendBool(number(number(b, uint64(h.endHi)), uint64(h.giveUp)), h.renewed)
	}
	return b
}

// rooms are the rooms that a lock may be, each once.
type rooms struct {
	all []room
	key string
}

func roomsOf(all []room) rooms {
	byKey := make(map[string]room, len(all))
	var b []byte
	for _, s := range all {
		b = s.appendKey(b[:0])
		byKey[string(b)] = s
	}
	keys := slices.Sorted(maps.Keys(byKey))
	x := rooms{key: strings.Join(keys, "")}
	for _, k := range keys {
		x.all = append(x.all, byKey[k])
	}
	return x
}

func (x rooms) describe(who *Roster) string {
	words := make([]string, len(x.all))
	for i, s := range x.all {
		words[i] = "free"
		for n, h := range s.holds {
			if n == 0 {
				words[i] = ""
			} else {
				words[i] += ", "
			}
			words[i] += who.name(h.owner) + " holds"
			if h.endHi < Forever && !h.renewed {
				words[i] += fmt.Sprintf(" until %s", history.At(h.endHi))
			}
		}
	}
	return strings.Join(words, " or ")
}
