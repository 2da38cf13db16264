package lock

import (
	"cmp"
	"context"
	"fmt"
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
	c      *Client
	key    stateKey
	names  names
	field  string // the owner's field in the hash
	number uint64 // of an owner that is one call; 0 for an owner with a name
	fair   bool   // the lock is a fair one
	draws  int    // jitter drawn so far

	// gate lets one acquire or release of this owner through at a time. It is a
	// channel, because it is held while waiting for Redis.
	gate chan struct{}
	refs int // operations that use the state

	cur    *holding  // nil without one; a lost one stays until Unlock has reported it
	open   *giveBack // without an answer, or with one that its owner has not seen
	late   bool      // a copy of an acquire or extension may still arrive, and no note is to come
	place  *place    // in the queue of a fair lock; nil when the owner does not wait
	timer  *time.Timer
	forget time.Time // when the client forgets a loss that no Unlock has reported; zero: never

	watched  bool // by the watchdog
	renewing bool // a renewal is under way
	due      time.Time
}

// holding is the period from the first hold to the last release. It has one lease. Each
// acquire in it may raise the lease, and no release shortens it. Client.mu guards it,
// except the fields that never change.
type holding struct {
	id    uint64 // serial of the acquire that began it
	token uint64
	since time.Time
	lost  chan struct{}

	count   int           // holds; after a loss those that no Unlock has reported
	renewed bool          // by the watchdog
	span    time.Duration // the longest time from a request to the end that it gave the lease
	until   time.Time     // end of the lease for its owner
	enders  map[int]func(cause error)
	nextEnd int
	ended   bool
	cause   error
}

// newHolding returns a holding without holds.
func newHolding(id, token uint64) *holding {
	return &holding{id: id, token: token, since: time.Now(), lost: make(chan struct{})}
}

// raise makes the lease last for d from the time when a request was sent, if that is
// longer.
func (h *holding) raise(sent time.Time, d time.Duration) {
	if until := sent.Add(d - margin(d)); until.After(h.until) {
		h.until = until
	}
	h.span = max(h.span, d)
}

// margin is the time by which an owner ends its lease before the server. It has 1% for
// drift between the clocks, and 2ms for the granularity of expiry, but at most a quarter.
func margin(lease time.Duration) time.Duration {
	return min(lease/100+2*time.Millisecond, lease/4)
}

// serverEnd is the latest end of the lease on the server.
func (h *holding) serverEnd() time.Time { return h.until.Add(margin(h.span)) }

// compare orders states. The order of a map must show neither on the wire nor to an observer.
func (s *state) compare(b *state) int {
	return cmp.Or(strings.Compare(s.key.name, b.key.name), strings.Compare(s.key.owner, b.key.owner))
}

// has reports whether the owner still has a holding. The caller holds mu.
func (s *state) has(cur *holding) bool { return s.cur == cur && !cur.ended }

// isHeld reports whether the owner has holds that are not lost. The caller holds mu.
func (s *state) isHeld() bool { return s.cur != nil && !s.cur.ended }

// isLost reports whether the owner has lost holds that no Unlock has reported. The
// caller holds mu.
func (s *state) isLost() bool { return s.cur != nil && s.cur.ended }

// numbers are those of the calls for one name of a lock, from 1 to last. The next call
// gets the smallest free one, so the server keeps notes of few owners.
type numbers struct {
	last uint64
	free []uint64
}

// take returns the smallest free number.
func (n *numbers) take() uint64 {
	if len(n.free) == 0 {
		n.last++
		return n.last
	}
	least := slices.Min(n.free)
	n.free = slices.DeleteFunc(n.free, func(i uint64) bool { return i == least })
	return least
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

// enterCall returns a state for a new owner that is one call, and counts the
// caller as its only user.
func (c *Client) enterCall(name string, fair bool) (*state, error) {
	if name != "" {
		name = c.cfg.prefix + name
	}
	n, err := newNames(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	calls := c.calls[name]
	if calls == nil {
		calls = &numbers{}
		c.calls[name] = calls
	}
	number := calls.take()
	s := c.newState(stateKey{name, fmt.Sprint(callPrefix, number)}, n)
	s.number, s.fair = number, fair
	s.use()
	return s, nil
}

// callPrefix starts the owners of [Client.Acquire]. No named owner may start with it.
const callPrefix = ":"

// newState creates the state of an owner. The caller holds mu.
func (c *Client) newState(key stateKey, n names) *state {
	s := &state{c: c, key: key, names: n, field: c.cfg.id + ":" + key.owner, gate: make(chan struct{}, 1)}
	c.states[key] = s
	return s
}

// reenter counts one more user of a state that may have been dropped.
func (s *state) reenter() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.closed {
		return ErrClosed
	}
	s.use()
	return nil
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

// drop forgets a state without information. The Hold of a call keeps the rest. The
// caller holds mu.
func (s *state) drop() {
	call := s.number > 0
	idle := s.cur == nil || call && s.cur.ended
	settled := s.open == nil || call && s.open.answered
	if s.refs > 0 || !idle || !settled || s.c.states[s.key] != s {
		return
	}
	delete(s.c.states, s.key)
	if s.timer != nil {
		s.timer.Stop()
	}
	if calls := s.c.calls[s.key.name]; call {
		calls.free = append(calls.free, s.number)
		if len(calls.free) == int(calls.last) {
			delete(s.c.calls, s.key.name)
		}
	}
}

// settle updates watchdog and timer after every change of the holding or of what is open.
// The caller holds mu.
func (s *state) settle() {
	s.c.dog.watch(s, s.isHeld() && s.cur.renewed)
	var next time.Time
	switch {
	case s.isHeld():
		next = s.cur.until
	case s.isLost():
		next = s.forget
	case s.open != nil && s.open.answered:
		next = s.open.until
	}
	switch {
	case next.IsZero(): // a timer that fires early looks, and sets itself again
	case s.timer == nil:
		s.timer = time.AfterFunc(time.Until(next), s.expire)
	default:
		s.timer.Reset(time.Until(next))
	}
}

// expire ends what is over by the clock: the holding, and later the memory of it.
func (s *state) expire() {
	after := func() {}
	s.c.mu.Lock()
	now := time.Now()
	switch {
	case s.isHeld() && !now.Before(s.cur.until):
		after = s.loseByClock()
	case s.isLost() && !s.forget.IsZero() && !now.Before(s.forget):
		s.cur = nil
	}
	if s.open != nil && s.open.answered && !now.Before(s.open.until) {
		s.open = nil
	}
	s.settle()
	s.drop()
	s.c.mu.Unlock()
	after()
}

// loseByClock ends the holding as lost before the server has reported it. The server's
// lease frees the lock, which a copy of the acquire must not take again, nor an extension
// keep. The caller holds mu, and calls after without it.
func (s *state) loseByClock() (after func()) {
	cur := s.cur
	tell := s.lose()
	if !s.late || s.c.closed {
		return tell
	}
	s.use()
	return func() {
		defer s.leave()
		tell()
		s.takeBack(&request{hold: cur.id, count: 1, lease: noteTime}, true)
	}
}

// lose ends the holding as lost. The caller holds mu, and calls after without it.
func (s *state) lose() (after func()) {
	if s.forget = (time.Time{}); !s.cur.renewed { // its owner may have left it to its lease
		s.forget = time.Now().Add(s.c.cfg.lease)
	}
	if g := s.open; g != nil && g.isRelease && g.released == nil {
		s.open = nil
		s.cur.count++ // no Unlock has reported its release
	}
	after = s.endAsLost(s.cur)
	s.settle()
	return after
}

// endAsLost ends a holding, which the state may no longer have. The caller holds mu, and
// calls after without it.
func (s *state) endAsLost(cur *holding) (after func()) {
	close(cur.lost)
	end := cur.end(ErrLost)
	return func() {
		end()
		s.c.cfg.observer.Lost(s.key.name, s.key.owner, time.Since(cur.since))
	}
}

// end marks the holding as over. The caller holds mu, and calls after, which
// notifies the listeners in order, without it.
func (h *holding) end(cause error) (after func()) {
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
	cur = cmp.Or(cur, s.cur)
	switch {
	case cur == nil:
		return nil, ErrNotHeld
	case cur.ended:
		return nil, cur.cause
	case cur.enders == nil:
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

// during returns a context that ends with parent, or with a holding; nil for the current one.
func (s *state) during(parent context.Context, cur *holding) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	if remove, cause := s.onEnd(cur, cancel); cause != nil {
		cancel(cause)
	} else {
		context.AfterFunc(ctx, remove)
	}
	return ctx
}

// forced ends this client's holdings of one lock that were there when a ForceUnlock asked.
func (c *Client) forced(name string, asked time.Time) {
	c.mu.Lock()
	var held []*state
	for key, s := range c.states {
		if key.name == name && s.isHeld() && !s.cur.since.After(asked) {
			held = append(held, s)
		}
	}
	slices.SortFunc(held, (*state).compare)
	after := make([]func(), len(held))
	for i, s := range held {
		after[i] = s.lose()
		s.drop()
	}
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}
