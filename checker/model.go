package checker

import (
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/history"
)

// The sequential lock that the linearizability judge compares with: who holds
// it, how often, and when the hold ends by itself. The last is not known to
// the nanosecond, so the state carries bounds: on the instant now at which the
// latest operation took effect, and on the instant ends at which the hold runs
// out. All constraints are differences (ends - now <= c and the like), for
// which keeping the tightest bounds loses nothing.

// opKind is what a lock operation tells the model.
type opKind uint8

const (
	gotLock     opKind = iota // acquire OK
	foundBusy                 // acquire refused
	tookAndGave               // acquire failed; it may have held the lock for a while and given it back
	maybeGot                  // acquire with unknown outcome
	gaveBack                  // release OK
	heldNothing               // release refused: not held
	foundLost                 // release refused: lost
	maybeGave                 // release with unknown outcome
	inspected                 // inspect OK
)

// lockOp is one operation on one lock, as the judges see it.
type lockOp struct {
	id        int64
	call, ret int64
	asked     int64  // the invocation; call is later where the server log says so
	token     uint64 // the fencing token granted; 0 when it did not say, or says nothing
	lease     int64  // forever when the hold does not end by itself
	owner     int32  // numbered from 1, see roster; 0 for what never happens
	count     int32  // replied; 0 on gotLock means it did not say
	kind      opKind
	renewed   bool
	crashed   bool // the client is gone and cannot clean up after itself
	stray     bool // of unknown outcome, and on its own: its owner's other operations mind it no more
}

// rules are how the lock under test differs from others.
type rules struct {
	reentrant bool
	// loose is for locks on several servers, where a refusal may come from
	// another owner's failed try and a release may find only some servers.
	loose bool
	// slack is how far a server's clock may be off its rounding: a hold may
	// end that much before or after its lease.
	slack int64
	who   *roster // for words only; nil for numbers
}

// Times of the model stay far from overflow.
const (
	forever  int64 = 1 << 60
	longPast       = -forever
)

func add(a, b int64) int64 {
	switch s := a + b; {
	case a >= forever || b >= forever || s >= forever:
		return forever
	case a <= longPast || b <= longPast || s <= longPast:
		return longPast
	default:
		return s
	}
}

// lockState is comparable. The zero value is the free lock at time 0.
type lockState struct {
	holder  int32 // 0 for nobody
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
func (r *rules) step(out []lockState, s lockState, o *lockOp) []lockState {
	if s.holder == 0 {
		if now := max(s.now, o.call); now <= o.ret {
			out = r.free(out, s.over(now), o)
		}
		return out
	}
	// o takes effect somewhere in [call, ret], not before the one before.
	now := max(s.now, o.call)
	if s.ahead < forever {
		now = max(now, add(s.endLo, -s.ahead))
	}
	endHi := min(s.endHi, add(o.ret, s.ahead))
	if now > o.ret || s.endLo > endHi {
		return out
	}
	// The hold may have ended by then ...
	if s.endLo < forever {
		if end := max(now, add(s.endLo, -r.slack)); end <= o.ret {
			out = r.free(out, s.over(end), o)
		}
	}
	// ... or still live.
	h, last := s, o.ret
	h.now, h.endHi = now, endHi
	if !s.renewed {
		last = min(last, add(endHi, r.slack))
		if now > last {
			return out
		}
		h.endLo = max(h.endLo, add(now, -r.slack))
	}
	out = r.held(out, h, last, o)
	for h.extra > 0 {
		h.extra--
		h.count--
		out = r.held(out, h, last, o)
	}
	return out
}

// over is the free lock after s, from now on.
func (s *lockState) over(now int64) lockState { return lockState{now: now, token: s.token} }

// free lets o take effect on the free lock, at stay.now or later.
func (r *rules) free(out []lockState, stay lockState, o *lockOp) []lockState {
	switch o.kind {
	case gotLock:
		if o.count <= 1 && (o.token == 0 || o.token > stay.token) {
			out = append(out, r.take(stay, o))
		}
	case foundBusy:
		if r.loose {
			out = append(out, stay)
		}
	case tookAndGave:
		h := r.take(stay, o)
		h.endLo, h.endHi, h.ahead, h.renewed = longPast, o.ret, forever, false
		out = append(out, stay, h)
	case maybeGot:
		h := r.take(stay, o)
		if !o.crashed {
			h.endLo = longPast // it may be taken back when its client hears of it
		}
		out = append(out, stay, h)
	case gaveBack:
		if r.loose {
			out = append(out, stay)
		}
	case inspected:
		if o.count == 0 {
			out = append(out, stay)
		}
	default:
		out = append(out, stay)
	}
	return out
}

// take is the state after o took the free lock, at free.now or later.
func (r *rules) take(free lockState, o *lockOp) lockState {
	now, token := free.now, uint64(0)
	if o.kind == gotLock {
		token = o.token
	}
	return lockState{
		token: max(free.token, token), exact: token > 0,
		holder: o.owner, count: 1, renewed: o.renewed, now: now,
		endLo: add(now, o.lease), endHi: add(o.ret, o.lease), ahead: o.lease,
		base: add(o.asked, o.lease), longest: o.lease, giveUp: r.giveUp(o),
	}
}

// giveUp is when the holder of a hold may call it lost by its own clock: one
// lease after it asked, less the margin that cautious clients deduct.
func (r *rules) giveUp(o *lockOp) int64 {
	if o.lease >= forever {
		return forever
	}
	return o.asked + o.lease - o.lease/100 - r.slack
}

// held lets o take effect while h.holder holds the lock, in [h.now, last].
func (r *rules) held(out []lockState, h lockState, last int64, o *lockOp) []lockState {
	own := h.holder == o.owner
	switch o.kind {
	case gotLock:
		if own && r.reentrant && (o.count == 0 || o.count == h.count+1) && h.shows(o.token) {
			out = again(out, h, last, o, r.giveUp(o))
		}
	case foundBusy:
		if r.loose || !own || !r.reentrant {
			out = append(out, h)
		}
	case maybeGot:
		out = append(out, h)
		if own && r.reentrant && !o.stray {
			h.count++
			h.extra++
			h.renewed = h.renewed || o.renewed
			h.endHi, h.ahead = max(h.endHi, add(last, o.lease)), max(h.ahead, o.lease)
			h.longest = max(h.longest, o.lease)
			h.giveUp = min(h.giveUp, r.giveUp(o))
			out = append(out, h)
		}
	case gaveBack:
		switch {
		case own && o.count == h.count-1:
			out = append(out, less(h, last))
		case r.loose:
			out = append(out, h)
		}
	case heldNothing:
		switch {
		case !own:
			out = append(out, h)
		case r.loose:
			out = append(out, h, h.over(h.now))
		}
	case foundLost:
		switch {
		case !own:
			out = append(out, h)
		case r.loose: // one server that lost its part is enough
			out = append(out, h, h.over(h.now))
		default:
			if now := max(h.now, h.giveUp); now <= last {
				h.now = now
				out = append(out, h, h.over(now))
			}
		}
	case maybeGave:
		if own {
			h = less(h, last)
		}
		out = append(out, h)
	case inspected:
		if (own && o.count == h.count) || (!own && o.count == 0) || r.loose {
			out = append(out, h)
		}
	default:
		out = append(out, h)
	}
	return out
}

// shows lets the hold have a token, 0 for any, and says whether it can.
func (s *lockState) shows(token uint64) bool {
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

// again takes one more hold: the end is what it was or one lease from now,
// whichever is later.
func again(out []lockState, h lockState, last int64, o *lockOp, giveUp int64) []lockState {
	h.count++
	h.renewed = h.renewed || o.renewed
	h.longest = max(h.longest, o.lease)
	h.giveUp = min(h.giveUp, giveUp)
	kept := h
	kept.endLo = max(h.endLo, add(h.now, o.lease))
	if kept.endLo <= kept.endHi && kept.ahead >= o.lease {
		out = append(out, kept)
	}
	now := max(h.now, add(h.endLo, -o.lease))
	if h.endLo <= longPast || o.lease >= forever {
		now = h.now
	}
	if now <= last {
		moved := h
		moved.now = now
		moved.endLo, moved.endHi, moved.ahead = add(now, o.lease), add(last, o.lease), o.lease
		if moved != kept {
			out = append(out, moved)
		}
	}
	return out
}

// less gives one hold back. Locks differ in what then becomes of the lease of
// the holds that remain: anything from the first hold's lease to a fresh one
// is accepted.
func less(h lockState, last int64) lockState {
	if h.count <= 1 {
		return h.over(h.now)
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

// describe puts an operation in words.
func (o *lockOp) describe(by *roster) string {
	who := by.name(o.owner)
	switch o.kind {
	case gotLock:
		return fmt.Sprintf("%s: acquire, count %d", who, o.count)
	case foundBusy:
		return who + ": acquire refused, busy"
	case tookAndGave:
		return who + ": acquire failed"
	case maybeGot:
		return who + ": acquire, outcome unknown"
	case gaveBack:
		return fmt.Sprintf("%s: release, %d left", who, o.count)
	case heldNothing:
		return who + ": release refused, not held"
	case foundLost:
		return who + ": release refused, lost"
	case maybeGave:
		return who + ": release, outcome unknown"
	default:
		return fmt.Sprintf("%s: inspect, count %d", who, o.count)
	}
}

// describeStates puts a set of states in words.
func describeStates(states []lockState, who *roster) string {
	words := make([]string, 0, len(states))
	for _, s := range states {
		switch {
		case s.holder == 0:
			words = append(words, "free")
		case s.endHi >= forever || s.renewed:
			words = append(words, fmt.Sprintf("%s holds %d", who.name(s.holder), s.count))
		default:
			words = append(words, fmt.Sprintf("%s holds %d until %s", who.name(s.holder), s.count, history.At(s.endHi)))
		}
	}
	return strings.Join(words, " or ")
}
