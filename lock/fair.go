package lock

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	//go:embed fair_queue.lua
	fairQueueSource string
	//go:embed fair_acquire.lua
	fairAcquireSource string
	//go:embed fair_look.lua
	fairLookSource string
	//go:embed fair_release.lua
	fairReleaseSource string
)

const (
	// looksPerLease is the least number of looks of a waiter in the lease of its place.
	looksPerLease = 3
	// placeLeaseMin is the shortest lease of a place. The hold that a place becomes lasts
	// no longer until its first renewal. So a short poll must not shorten it.
	placeLeaseMin = 3 * time.Second
	// lookBatch is the largest number of places in one look, so that a client with many
	// waiters does not hold up the server.
	lookBatch = 1500
)

// FairLock is a lock that is granted first come, first served; make it with
// [Client.NewFairLock]. The releasing owner hands it to the first waiter. Every
// call is a new owner, as with [Client.Acquire].
//
// A waiter has a place in a queue on the server. One request per [WithSafetyPoll]
// keeps all places of a client, for three times as long, and at least for three
// seconds. A waiter that dies costs nothing, or that time if it had just been handed
// the lock. The same holds for a waiter that is stopped or cut off, which then
// continues at the end of the queue. A lost message costs one poll.
//
// A hold that was handed on lasts for the rest of its place until the watchdog has
// renewed it, at once. [Hold.Remaining] tells.
//
// A failover can lose places, and so the order. The lock excludes users of
// [Client.Acquire] and of Redisson's RLock on the same name, but is not fair to
// them. Its holds always have fencing tokens, with or without [WithFencing].
type FairLock struct {
	c    *Client
	name string
}

// NewFairLock returns the fair lock called name. It sends no request.
func (c *Client) NewFairLock(name string) *FairLock { return &FairLock{c, name} }

// Acquire waits for its turn until ctx ends or [Wait] is over. With Wait(0) it takes no
// place in the queue. For the rest it is [Client.Acquire].
//
// An outage of the server does not end the wait of an owner that has a place. The polls
// go on, and the owner continues at the end of the queue if its place is gone. Only a
// failed acquire request ends the wait, with [ErrRefused] or [ErrUnknown]. That is the
// first request, one for a new place, or one that confirms a hand-off.
//
// The error is ErrUnknown if the wait ends and no server confirms that the owner has left
// the queue. If ctx has ended, its error is joined.
func (l *FairLock) Acquire(ctx context.Context, opts ...AcquireOption) (*Hold, error) {
	a := NewAcquire(opts)
	return l.c.hold(ctx, l.name, a, !a.bounded, true)
}

// Do runs work under the lock; see [Client.Do].
func (l *FairLock) Do(ctx context.Context, work func(ctx context.Context, h *Hold) error, opts ...AcquireOption) error {
	if work == nil {
		return errNoWork
	}
	h, err := l.Acquire(ctx, opts...)
	if err != nil {
		return err
	}
	return h.do(ctx, work)
}

// fairKeys are the first keys and arguments of each script of the fair lock.
func fairKeys(c *Client, n names) (keys []string, args []any) {
	token, retention := n.tokenKey(c.cfg.fencing, true)
	return []string{n.lock, n.queue, n.places, token}, []any{unlockMessage, n.channel, retention}
}

// placeLease is the time that a place lasts without another request.
func (c *Client) placeLease() time.Duration {
	return max(looksPerLease*c.cfg.safetyPoll, placeLeaseMin)
}

// fairChannel is the channel of this client's hand-offs.
func (c *Client) fairChannel(n names) string { return n.fairChannel + c.cfg.id }

// place is an owner's place in the queue. Guarded by Client.mu, except the channels.
type place struct {
	s     *state
	first uint64                  // serial of the first request
	looks [looksPerLease + 2]look // the last ones, latest first
	asks  bool                    // a request of its own is under way
	in    bool                    // it may be on the server
	told  chan handOff            // holds the last one; the zero one says that the place is gone
	asked chan struct{}           // closed when its owner has asked again; nil unless somebody waits for that
}

// look is one request that keeps a place.
type look struct {
	serial uint64
	sent   time.Time
}

// handOff is the message to a client whose place got the lock.
type handOff struct {
	serial uint64 // of the look that counts, which is the id of the hold, too
	token  uint64
}

// looked records a request that keeps the place. The caller holds mu.
func (p *place) looked(serial uint64) {
	p.first = cmp.Or(p.first, serial)
	copy(p.looks[1:], p.looks[:])
	p.looks[0] = look{serial, time.Now()}
}

// ask records a request of the owner itself, and returns whether the place may
// already be on the server. It does nothing without a place. The caller holds mu.
func (p *place) ask(serial uint64) (before bool) {
	if p == nil {
		return false
	}
	before = p.in
	p.asks, p.in = true, true
	p.looked(serial)
	return before
}

// answered ends what ask began. The caller holds mu.
func (p *place) answered() {
	if p.asks = false; p.asked != nil {
		close(p.asked)
		p.asked = nil
	}
}

// refused reverts ask.
func (p *place) refused(before bool) {
	if p == nil {
		return
	}
	p.s.c.mu.Lock()
	p.in = before
	p.s.c.mu.Unlock()
}

// line is all places of a client in one queue. Guarded by Client.mu.
type line struct {
	c       *Client
	names   names
	places  []*place // in order of arrival
	running bool
	stop    chan struct{}
	draws   int
}

// enqueue enters the place of an owner before its first request.
func (s *state) enqueue() {
	c, ch := s.c, s.c.fairChannel(s.names)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.place = &place{s: s, told: make(chan handOff, 1)}
	l := c.lines[ch]
	if l == nil {
		l = &line{c: c, names: s.names, stop: make(chan struct{})}
		c.lines[ch] = l
	}
	l.places = append(l.places, s.place)
}

// dequeue forgets the place of an owner, and reports whether it may be on the server.
func (s *state) dequeue() (in bool) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	p := s.place
	if p == nil {
		return false
	}
	ch := c.fairChannel(s.names)
	l := c.lines[ch]
	s.place = nil
	p.answered()
	if i := slices.Index(l.places, p); i >= 0 {
		l.places = slices.Delete(l.places, i, i+1)
	}
	if len(l.places) == 0 {
		delete(c.lines, ch)
		close(l.stop)
	}
	return p.in
}

// turn waits until the owner has reason for another request, or has been handed the lock:
// then it returns the hold. The holder's lease ends in pttl. more is false if the wait has
// ended.
func (s *state) turn(ctx context.Context, renewed bool, pttl time.Duration) (_ Grant, _ *holding, more bool) {
	c, p := s.c, s.place
	c.mu.Lock()
	p.answered()
	if l := c.lines[c.fairChannel(s.names)]; !l.running {
		l.running = true
		c.ops.Go(func() { l.run(pttl) })
	}
	c.mu.Unlock()
	var h handOff
	select {
	case h = <-p.told:
	case <-ctx.Done():
	case <-c.life.Done():
	}
	if ctx.Err() != nil || c.life.Err() != nil {
		return Grant{}, nil, false
	}
	if renewed && c.cfg.acks == 0 {
		if g, cur := s.adopt(h); cur != nil {
			return g, cur, false
		}
	}
	return Grant{}, nil, true
}

// adopt enters a hold that was handed to the owner. It lasts for the rest of the
// place, and at most for its lease, counted from the send of the request that the
// hand-off names. The watchdog renews it at once. Without a hand-off, or enough time left, it
// returns no hold: then the owner sends a request.
func (s *state) adopt(h handOff) (Grant, *holding) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	var sent time.Time // long ago without a look
	for _, l := range s.place.looks {
		if l.serial == h.serial {
			sent = l.sent
		}
	}
	lease := min(c.placeLease(), c.cfg.lease)
	if time.Until(sent.Add(lease)) < lease/4 {
		return Grant{}, nil
	}
	cur := newHolding(h.serial, h.token)
	cur.count, cur.renewed = 1, true
	cur.raise(sent, lease)
	s.cur, s.due = cur, time.Now()
	s.settle()
	return Grant{Count: 1, Token: h.token, Lease: c.cfg.lease, Renewed: true}, cur
}

// handed processes a message on a channel of the fair lock, if it is one.
func (c *Client) handed(channel, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[channel]
	parts := strings.SplitN(message, ":", 3)
	if l == nil || len(parts) < 3 {
		return
	}
	serial, err1 := strconv.ParseUint(parts[0], 10, 64)
	token, err2 := strconv.ParseUint(parts[1], 10, 64)
	i := slices.IndexFunc(l.places, func(p *place) bool { return p.s.field == parts[2] })
	if err1 != nil || err2 != nil || i < 0 {
		return
	}
	select {
	case <-l.places[i].told:
	default:
	}
	l.places[i].told <- handOff{serial, token}
}

// run sends requests for all places of the line while there are any: at intervals, and at
// the end of the holder's lease. It also does so after the confirmation of the
// subscription, because earlier messages are lost.
func (l *line) run(pttl time.Duration) {
	// freed is for a release by an owner outside of the queue.
	freed, handed := l.c.hub.joinBoth(l.names.channel, l.c.fairChannel(l.names))
	defer l.c.hub.leave(freed, false)
	defer l.c.hub.leave(handed, true)
	timer := time.NewTimer(l.pause(pttl))
	for {
		freed.woken = false
		select {
		case <-l.stop:
			return
		case <-l.c.life.Done():
			return
		case <-handed.wake:
		case <-freed.wake:
			freed.woken = true
		case <-timer.C:
		}
		timer.Reset(l.pause(l.look()))
	}
}

// pause is the time until the next request.
func (l *line) pause(pttl time.Duration) time.Duration {
	l.draws++
	poll := l.c.jitter(stateKey{name: l.names.lock}, l.draws, l.c.cfg.safetyPoll)
	if pttl < 0 {
		return poll
	}
	return min(poll, pttl+time.Millisecond)
}

// look keeps all places of the line, and returns the rest of the holder's lease;
// -1ms if unknown. It notifies owners whose place is gone, so that they send a
// request.
func (l *line) look() (pttl time.Duration) {
	c := l.c
	c.mu.Lock()
	serial := c.serial.Add(1)
	var places []*place
	for _, p := range l.places {
		if !p.asks {
			p.looked(serial)
			places = append(places, p)
		}
	}
	c.mu.Unlock()
	pttl = -time.Millisecond
	for batch := range slices.Chunk(places, lookBatch) {
		keys, args := fairKeys(c, l.names)
		args = append(args, millis(c.placeLease()), serial)
		for _, p := range batch {
			args = append(args, p.s.field)
		}
		ctx, cancel := context.WithTimeout(c.life, c.placeLease()/looksPerLease)
		answers, err := persist(ctx, c, forever, func(int, error) bool { return true }, func(ctx context.Context) ([]int64, error) {
			return call(ctx, c, func(ctx context.Context) ([]int64, error) {
				return c.script(fairLookScript).Run(ctx, c.rdb, keys, args...).Int64Slice()
			})
		})
		cancel()
		if err != nil || len(answers) != len(batch)+1 {
			continue // the next look is soon enough
		}
		pttl = time.Duration(answers[0]) * time.Millisecond
		for i, p := range batch {
			if answers[i+1] == 0 {
				l.ask(p)
			}
		}
	}
	return pttl
}

// ask makes the owner of a place that is gone send a request, and waits for its answer, but
// no longer than a poll. So the owners of a client keep their order in the new queue.
func (l *line) ask(p *place) {
	c := l.c
	c.mu.Lock()
	if p.asks || p.s.place != p {
		c.mu.Unlock()
		return
	}
	asked := make(chan struct{})
	p.asks, p.asked = true, asked
	select {
	case p.told <- handOff{}:
	default: // it has reason to ask already
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.life, c.cfg.safetyPoll)
	defer cancel()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-l.stop:
	}
}

// fairRequest returns the keys and arguments of an acquire of the fair lock.
func (s *state) fairRequest(r *request) (keys []string, args func(*write) []any) {
	keys, shared := fairKeys(s.c, s.names)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	first, place := r.serial, int64(0)
	if s.place != nil {
		first, place = s.place.first, millis(s.c.placeLease())
	}
	keys = append(keys, s.names.note(s.field))
	more := []any{first, millis(r.lease), place, s.c.fairChannel(s.names)}
	return keys, func(w *write) []any { return slices.Concat(shared, []any{s.field, w}, more) }
}
