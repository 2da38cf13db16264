package lock

import (
	"context"
	"slices"
	"strings"
	"time"
)

// stateKey names one owner of one lock within a client.
type stateKey struct{ name, owner string }

// state is a client's knowledge of one owner's holds on one lock. All views of the
// same pair from [Client.NewLock] share one state, so that renewals and holds are
// counted in one place.
//
// Client.mu guards the fields without a comment on locking.
type state struct {
	c     *Client
	key   stateKey
	names names
	field string // the owner's field in the hash
	draws int    // jitter drawn so far
	last  uint64 // serial of the owner's last request

	// gate lets one request of this owner through at a time. It is a channel,
	// because it is held while waiting for Redis.
	gate chan struct{}
	refs int // operations that use the state

	holds   []hold   // innermost last
	giving  giving   // the release that is under way or was not answered
	cur     *holding // the holding from 0 -> 1; nil when there is none
	lost    bool     // cur was lost, and Unlock has not said so yet
	renewed time.Time
	timer   *time.Timer // fires when the lease has run out
	undo    *undo       // an acquire that is still to be taken back
	call    int         // the number of an owner that is one call; 0 for an owner with a name
	fair    bool        // the lock is a fair one
	place   *place      // in its queue; nil when the owner does not wait

	watched bool // the watchdog has it
	due     time.Time
	renews  chan struct{} // closed when the renewal under way has ended
}

// hold is one level of a reentrant lock.
type hold struct {
	lease     time.Duration
	renewed   bool      // by the watchdog
	until     time.Time // end of the lease, counted from the send; renewals are not in it
	releasing bool      // a release was sent and not answered yet
}

// validUntil is the end of the lease for its owner.
func (h hold) validUntil() time.Time { return h.until.Add(-margin(h.lease)) }

// giving is a release of the innermost holds.
type giving struct {
	serial uint64
	levels int // number of holds that it gives back; 0 for no release
}

// undo is an acquire of unknown outcome with an unanswered compensation. It is
// forgotten when its lease has run out.
type undo struct {
	serial uint64
	lease  time.Duration
}

// holding is the period from the first hold to the last release.
type holding struct {
	id      uint64 // serial of the acquire that began it
	token   uint64
	since   time.Time
	lost    chan struct{}
	enders  map[int]func(cause error) // called when the holding ends
	nextEnd int
	ended   bool
	cause   error
}

// margin is the time by which an owner ends its lease before the server. It has 1% for
// drift between the clocks, and 2ms for the granularity of expiry, but at most a quarter.
func margin(lease time.Duration) time.Duration {
	return min(lease/100+2*time.Millisecond, lease/4)
}

// enter returns the state of the owner, creating it if necessary, and counts the
// caller as its user.
func (l *Reentrant) enter() (*state, error) {
	if l.invalid != nil {
		return nil, l.invalid
	}
	c, key := l.c, l.key
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	s := c.states[key]
	if s == nil {
		s = c.newState(key, l.names)
	}
	s.use()
	return s, nil
}

// newState creates the state of an owner. The caller holds mu.
func (c *Client) newState(key stateKey, n names) *state {
	s := &state{c: c, key: key, names: n, field: c.cfg.id + ":" + key.owner, gate: make(chan struct{}, 1)}
	c.states[key] = s
	return s
}

// use counts one more user, until leave. The caller holds mu.
func (s *state) use() {
	s.c.ops.Add(1)
	s.refs++
}

// leave undoes enter.
func (s *state) leave() {
	s.c.mu.Lock()
	s.refs--
	s.drop()
	s.c.mu.Unlock()
	s.c.ops.Done()
}

// newSerial returns the serial of the owner's next request, greater than all
// before. The caller holds mu.
func (s *state) newSerial() uint64 {
	s.last = s.c.serial.Add(1)
	return s.last
}

// drop forgets a state without information. The caller holds mu.
func (s *state) drop() {
	told := !s.lost || s.call > 0 // a loss is kept by the Hold itself
	if s.refs == 0 && len(s.holds) == 0 && told && s.undo == nil && s.c.states[s.key] == s {
		delete(s.c.states, s.key)
		if s.call > 0 {
			s.c.calls.giveBack(s.key.name, s.call)
		}
	}
}

// owed is the rest of the holds' lease at now. Holds that are being released are
// owed nothing. 0 or less means none. The caller holds mu.
func (s *state) owed(now time.Time) time.Duration {
	var d time.Duration
	for _, h := range s.holds {
		switch {
		case h.releasing:
		case h.renewed:
			d = max(d, s.c.cfg.lease, h.until.Sub(now))
		default:
			d = max(d, h.until.Sub(now))
		}
	}
	return d
}

// deadline is the end of the holds' lease for this client. It counts from the send of the
// last request that set it, and is a margin early. A hold that is being released extends
// nothing: its release may have arrived, and leaves the others their lease. The caller
// holds mu.
func (s *state) deadline() time.Time {
	var t time.Time
	for i, h := range s.holds {
		if h.releasing && i > 0 {
			continue
		}
		if until := h.validUntil(); until.After(t) {
			t = until
		}
		if !h.renewed {
			continue
		}
		if until := s.renewed.Add(-margin(s.c.cfg.lease)); until.After(t) {
			t = until
		}
	}
	return t
}

// kept reports whether the watchdog must renew. The caller holds mu.
func (s *state) kept() bool {
	for _, h := range s.holds {
		if h.renewed && !h.releasing {
			return true
		}
	}
	return false
}

// stopRenewing lets renewed holds last until their latest renewal ends, unless
// more than levels are held. The caller holds mu.
func (s *state) stopRenewing(levels int) {
	held := 0
	for _, h := range s.holds {
		if !h.releasing {
			held++
		}
	}
	if held > levels {
		return
	}
	for i := range s.holds {
		h := &s.holds[i]
		if h.renewed && s.renewed.After(h.until) {
			h.until = s.renewed
		}
		h.renewed = false
	}
	s.settle()
}

// settle updates timer and watchdog after every change of the holds. The caller
// holds mu.
func (s *state) settle() {
	s.c.dog.watch(s, s.kept())
	if len(s.holds) == 0 {
		if s.timer != nil {
			s.timer.Stop()
			s.timer = nil
		}
		return
	}
	d := time.Until(s.deadline())
	if s.timer == nil {
		s.timer = time.AfterFunc(d, s.expire)
	} else {
		s.timer.Reset(d)
	}
}

// expire runs when the deadline may have passed.
func (s *state) expire() {
	s.c.mu.Lock()
	if len(s.holds) == 0 || time.Now().Before(s.deadline()) {
		s.c.mu.Unlock()
		return
	}
	after := s.loseByClock()
	s.drop()
	s.c.mu.Unlock()
	after()
}

// loseByClock ends the holding as lost before the server has reported it. It notifies the
// server, once and in the background, because no caller works under the lock any more.
// The caller holds mu, and calls after without it.
func (s *state) loseByClock() (after func()) {
	cur, serial := s.cur, s.newSerial()
	tell := s.lose()
	if !s.lost || s.c.closed {
		return tell
	}
	s.c.ops.Add(1)
	return func() {
		tell()
		go func() {
			defer s.c.ops.Done()
			ctx, cancel := context.WithTimeout(s.c.life, s.c.cfg.unlockTimeout)
			defer cancel()
			_, _ = s.sendRelease(ctx, serial, cur.id, 0, 0) // else the lease frees it
		}()
	}
}

// lose ends the holding, of at least one hold, as lost; an unanswered last release
// counts as executed instead. The caller holds mu, and calls after without it.
func (s *state) lose() (after func()) {
	cur, released := s.cur, s.holds[0].releasing
	s.holds, s.giving = nil, giving{}
	s.settle()
	if released {
		s.cur = nil
		return cur.end(ErrNotHeld)
	}
	s.lost = true
	close(cur.lost)
	end := cur.end(ErrLost)
	return func() {
		end()
		if f := s.c.cfg.observer.Lost; f != nil {
			f(s.key.name, s.key.owner, time.Since(cur.since))
		}
	}
}

// end marks the holding as over. The caller holds mu, and calls after, which
// notifies the listeners in order, without it.
func (h *holding) end(cause error) (after func()) {
	if h.ended {
		return func() {}
	}
	h.ended, h.cause = true, cause
	enders, n := h.enders, h.nextEnd
	h.enders = nil
	return func() {
		for i := range n {
			if f := enders[i]; f != nil {
				f(cause)
			}
		}
	}
}

// onEnd registers f for the end of a holding, nil for the current one, and returns
// a function that removes it. cause is not nil if the holding has already ended.
func (s *state) onEnd(cur *holding, f func(cause error)) (remove func(), cause error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if cur == nil {
		cur = s.cur
	}
	if cur == nil {
		return nil, ErrNotHeld
	}
	if cur.ended {
		return nil, cur.cause
	}
	if cur.enders == nil {
		cur.enders = make(map[int]func(error))
	}
	i := cur.nextEnd
	cur.nextEnd++
	cur.enders[i] = f
	return func() {
		s.c.mu.Lock()
		delete(cur.enders, i)
		s.c.mu.Unlock()
	}, nil
}

// taken is a holding before a request.
type taken struct {
	s   *state
	cur *holding
}

// holdings returns this client's holdings of one lock, in order of owners.
func (c *Client) holdings(name string) []taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	var held []taken
	for key, s := range c.states {
		if key.name == name && len(s.holds) > 0 {
			held = append(held, taken{s, s.cur})
		}
	}
	slices.SortFunc(held, func(a, b taken) int { return strings.Compare(a.s.key.owner, b.s.key.owner) })
	return held
}

// forced ends holdings after ForceUnlock.
func (c *Client) forced(held []taken) {
	for _, t := range held {
		after := func() {}
		c.mu.Lock()
		if t.s.cur == t.cur && len(t.s.holds) > 0 {
			after = t.s.lose()
			t.s.drop()
		}
		c.mu.Unlock()
		after()
	}
}
