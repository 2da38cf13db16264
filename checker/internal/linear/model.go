package linear

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The sequential lock that the linearizability judge compares with: who holds it, how
// often, and when the hold ends by itself. The last is not known to the nanosecond, so
// the state carries bounds. They are on the instant now at which the latest operation
// took effect, and on the instant ends at which the hold runs out. All constraints are
// differences (ends - now <= c and the like), for which keeping the tightest bounds loses
// nothing.

// Kind is the kind of a lock operation, with its outcome.
type Kind uint8

const (
	GotLock     Kind = iota // acquire OK
	FoundBusy               // acquire refused
	TookAndGave             // acquire failed; it may have held the lock for a while and given it back
	MaybeGot                // acquire with unknown outcome
	GaveBack                // release OK
	HeldNothing             // release refused: not held
	FoundLost               // release refused: lost
	MaybeGave               // release with unknown outcome
	Inspected               // inspect OK
)

// Op is one operation on one lock, as the judges see it.
type Op struct {
	ID           int64
	Call, Return int64
	Asked        int64  // the invocation; call is later where the server log says so
	Token        uint64 // the fencing token granted; 0 when it did not say, or says nothing
	Lease        int64  // Forever when the hold does not end by itself
	Owner        int32  // numbered from 1, see Roster; 0 for what never happens
	Other        int32  // the number of its owner in the other mode, whose hold is not in its way; 0 for none
	Count        int32  // replied; 0 on GotLock means it did not say
	Weight       int32  // of the hold of an acquire; only a lock with a capacity minds it
	MayEnd       int64  // when the hold may end before its lease, from then on; 0 for never; as for Weight
	Kind         Kind
	Renewed      bool
	Crashed      bool // the client is gone and cannot clean up after itself
	stray        bool // of unknown outcome, and on its own: its owner's other operations mind it no more
}

// Rules are the differences of the lock under test from others.
type Rules struct {
	Reentrant bool
	// Capacity is the weight of all holds at once. A lock with more than 1 is not
	// Reentrant; see room.
	Capacity int32
	// Loose is for locks on several servers, where a refusal may come from
	// another owner's failed try and a release may find only some servers.
	Loose bool
	// Slack is the time by which a server's clock may be off its rounding: a hold may
	// end that much before or after its lease.
	Slack  int64
	Margin int64   // the time before the end of its lease at which a lock declares to call a hold lost
	Owners *Roster // for words only; nil for numbers

	confirms bool // porcupine: the fast judge has decided
}

// Times of the model stay far from overflow.
const (
	Forever  int64 = 1 << 60
	longPast       = -Forever
)

func add(a, b int64) int64 {
	switch s := a + b; {
	case a >= Forever || b >= Forever || s >= Forever:
		return Forever
	case a <= longPast || b <= longPast || s <= longPast:
		return longPast
	default:
		return s
	}
}

// lockState is comparable. The zero value is the free lock at time 0.
type lockState struct {
	holder  int32 // 0 without a holder
	count   int32
	extra   int32 // of count, holds of unknown acquires that may be taken back silently
	renewed bool  // ends is only the earliest end

	now          int64 // the latest operation took effect at this time or later
	endLo, endHi int64 // bounds on the end of the hold
	ahead        int64 // the end is at most this long after now
	base         int64 // the first hold's lease lasts at least until here
	longest      int64 // lease of any hold of this session
	giveUp       int64 // from here on the holder may have given the hold up for lost

	token uint64 // the greatest seen
	exact bool   // it is that of the hold
}

// step returns the states that may follow s when o takes effect.
func (r *Rules) step(out []lockState, s lockState, o *Op) []lockState {
	if s.holder == 0 {
		if now := max(s.now, o.Call); now <= o.Return {
			out = r.free(out, s.freeFrom(now), o)
		}
		return out
	}
	// o takes effect somewhere in [call, ret], not before the one before.
	now := max(s.now, o.Call)
	if s.ahead < Forever {
		now = max(now, add(s.endLo, -s.ahead))
	}
	endHi := min(s.endHi, add(o.Return, s.ahead))
	if now > o.Return || s.endLo > endHi {
		return out
	}
	// The hold may have ended by then ...
	if s.endLo < Forever {
		if end := max(now, add(s.endLo, -r.Slack)); end <= o.Return {
			out = r.free(out, s.freeFrom(end), o)
		}
	}
	// ... or still live.
	h, last := s, o.Return
	h.now, h.endHi = now, endHi
	if !s.renewed {
		last = min(last, add(endHi, r.Slack))
		if now > last {
			return out
		}
		h.endLo = max(h.endLo, add(now, -r.Slack))
	}
	out = r.held(out, h, last, o)
	for h.extra > 0 {
		h.extra--
		h.count--
		out = r.held(out, h, last, o)
	}
	return out
}

// freeFrom is the free lock after s, from now on.
func (s *lockState) freeFrom(now int64) lockState { return lockState{now: now, token: s.token} }

// free lets o take effect on the free lock, at stay.now or later.
func (r *Rules) free(out []lockState, stay lockState, o *Op) []lockState {
	switch o.Kind {
	case GotLock:
		if o.Count <= 1 && (o.Token == 0 || o.Token > stay.token) {
			out = append(out, r.take(stay, o))
		}
	case FoundBusy:
		if r.Loose {
			out = append(out, stay)
		}
	case TookAndGave:
		h := r.take(stay, o)
		h.endLo, h.endHi, h.ahead, h.renewed = longPast, o.Return, Forever, false
		out = append(out, stay, h)
	case MaybeGot:
		h := r.take(stay, o)
		if !o.Crashed {
			h.endLo = longPast // it may be taken back when its client hears of it
		}
		out = append(out, stay, h)
	case GaveBack:
		if r.Loose {
			out = append(out, stay)
		}
	case Inspected:
		if o.Count == 0 {
			out = append(out, stay)
		}
	default:
		out = append(out, stay)
	}
	return out
}

// take is the state after o took the free lock, at free.now or later.
func (r *Rules) take(free lockState, o *Op) lockState {
	now, token := free.now, uint64(0)
	if o.Kind == GotLock {
		token = o.Token
	}
	return lockState{
		token: max(free.token, token), exact: token > 0,
		holder: o.Owner, count: 1, renewed: o.Renewed, now: now,
		endLo: add(now, o.Lease), endHi: add(o.Return, o.Lease), ahead: o.Lease,
		base: add(o.Asked, o.Lease), longest: o.Lease, giveUp: r.giveUp(o),
	}
}

// giveUp is the time from which the holder of a hold may call it lost by its own clock.
// That is one lease after it asked, less the margin that cautious clients deduct, or the
// one that the lock declares.
func (r *Rules) giveUp(o *Op) int64 {
	if o.Lease >= Forever {
		return Forever
	}
	return o.Asked + o.Lease - max(o.Lease/100, r.Margin) - r.Slack
}

// held lets o take effect while h.holder holds the lock, in [h.now, last].
func (r *Rules) held(out []lockState, h lockState, last int64, o *Op) []lockState {
	own := h.holder == o.Owner
	switch o.Kind {
	case GotLock:
		if own && r.Reentrant && (o.Count == 0 || o.Count == h.count+1) && h.takeToken(o.Token) {
			out = again(out, h, last, o, r.giveUp(o))
		}
	case FoundBusy:
		if r.Loose || !own || !r.Reentrant {
			out = append(out, h)
		}
	case MaybeGot:
		out = append(out, h)
		if own && r.Reentrant && !o.stray {
			h.count++
			h.extra++
			h.renewed = h.renewed || o.Renewed
			h.endHi, h.ahead = max(h.endHi, add(last, o.Lease)), max(h.ahead, o.Lease)
			h.longest = max(h.longest, o.Lease)
			h.giveUp = min(h.giveUp, r.giveUp(o))
			out = append(out, h)
		}
	case GaveBack:
		switch {
		case own && o.Count == h.count-1:
			out = append(out, less(h, last))
		case r.Loose:
			out = append(out, h)
		}
	case HeldNothing:
		switch {
		case !own:
			out = append(out, h)
		case r.Loose:
			out = append(out, h, h.freeFrom(h.now))
		}
	case FoundLost:
		switch {
		case !own:
			out = append(out, h)
		case r.Loose: // one server that lost its part is enough
			out = append(out, h, h.freeFrom(h.now))
		default:
			if now := max(h.now, h.giveUp); now <= last {
				h.now = now
				out = append(out, h, h.freeFrom(now))
			}
		}
	case MaybeGave:
		if own {
			h = less(h, last)
		}
		out = append(out, h)
	case Inspected:
		if (own && o.Count == h.count) || (!own && o.Count == 0) || r.Loose {
			out = append(out, h)
		}
	default:
		out = append(out, h)
	}
	return out
}

// takeToken lets the hold have a token, 0 for any, and says whether it can.
func (s *lockState) takeToken(token uint64) bool {
	switch {
	case token == 0:
		return true
	case s.exact:
		return token == s.token
	case token <= s.token:
		return false
	}
	s.token, s.exact = token, true
	return true
}

// again takes one more hold. The end stays, or is one lease from now, whichever is later.
func again(out []lockState, h lockState, last int64, o *Op, giveUp int64) []lockState {
	h.count++
	h.renewed = h.renewed || o.Renewed
	h.longest = max(h.longest, o.Lease)
	h.giveUp = min(h.giveUp, giveUp)
	kept := h
	kept.endLo = max(h.endLo, add(h.now, o.Lease))
	if kept.endLo <= kept.endHi && kept.ahead >= o.Lease {
		out = append(out, kept)
	}
	now := max(h.now, add(h.endLo, -o.Lease))
	if h.endLo <= longPast || o.Lease >= Forever {
		now = h.now
	}
	if now <= last {
		moved := h
		moved.now = now
		moved.endLo, moved.endHi, moved.ahead = add(now, o.Lease), add(last, o.Lease), o.Lease
		if moved != kept {
			out = append(out, moved)
		}
	}
	return out
}

// less releases one hold. Locks treat the lease of the remaining holds differently: less
// accepts anything from the first hold's lease to a fresh one.
func less(h lockState, last int64) lockState {
	if h.count <= 1 {
		return h.freeFrom(h.now)
	}
	h.count--
	h.extra = min(h.extra, h.count-1)
	h.endLo = min(h.endLo, h.base)
	h.endHi = max(h.endHi, add(last, h.longest))
	h.ahead = max(h.ahead, h.longest)
	return h
}

// hash agrees with equality.
func (s lockState) hash() uint64 {
	h := uint64(14695981039346656037)
	for _, v := range [...]int64{int64(s.holder), int64(s.count), s.now, s.endLo, s.endHi, s.ahead} {
		h = (h ^ uint64(v)) * 1099511628211
		h ^= h >> 29
	}
	return h
}

func (o *Op) describe(by *Roster) string {
	who := by.name(o.Owner)
	switch o.Kind {
	case GotLock:
		return fmt.Sprintf("%s: acquire, count %d", who, o.Count)
	case FoundBusy:
		return who + ": acquire refused, busy"
	case TookAndGave:
		return who + ": acquire failed"
	case MaybeGot:
		return who + ": acquire, outcome unknown"
	case GaveBack:
		return fmt.Sprintf("%s: release, %d left", who, o.Count)
	case HeldNothing:
		return who + ": release refused, not held"
	case FoundLost:
		return who + ": release refused, lost"
	case MaybeGave:
		return who + ": release, outcome unknown"
	default:
		return fmt.Sprintf("%s: inspect, count %d", who, o.Count)
	}
}

func describeStates(states []lockState, who *Roster) string {
	words := make([]string, 0, len(states))
	for _, s := range states {
		switch {
		case s.holder == 0:
			words = append(words, "free")
		case s.endHi >= Forever || s.renewed:
			words = append(words, fmt.Sprintf("%s holds %d", who.name(s.holder), s.count))
		default:
			words = append(words, fmt.Sprintf("%s holds %d until %s", who.name(s.holder), s.count, history.At(s.endHi)))
		}
	}
	return strings.Join(words, " or ")
}
