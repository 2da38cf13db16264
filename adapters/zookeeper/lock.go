package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/lock"
)

// requestTimeout bounds what has no bound of its own: one try, and a release.
const requestTimeout = 5 * time.Second

// ensemble is the lock under test in a client process.
type ensemble struct {
	servers []string
	lease   time.Duration
	timeout time.Duration
	fenced  bool

	mu     sync.Mutex
	spare  *session // for the first owner; nil when it is taken
	owners []*owner
	ended  bool
	ending sync.WaitGroup
}

func open(h adapter.Hello) (adapter.Lock, error) {
	if h.Lock != plain && h.Lock != fenced {
		return nil, fmt.Errorf("there is no lock %q here", h.Lock)
	}
	e := &ensemble{servers: h.Redis.Primaries, lease: time.Duration(h.LeaseNS), timeout: h.Redis.Scaled(requestTimeout), fenced: h.Lock == fenced}
	// A process that has been up for a while has a session.
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	var err error
	if e.spare, err = e.newSession(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Describe implements [adapter.Described].
func (e *ensemble) Describe() (name, ver string) { return "github.com/go-zookeeper/zk", version() }

// Identity implements [adapter.Lock]: nodes have the number of a session.
func (e *ensemble) Identity(string) string { return "" }

// Locker implements [adapter.Lock].
func (e *ensemble) Locker(name, _ string) (lock.Locker, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &owner{of: e, path: pathOf(name), session: e.spare}
	e.spare = nil
	e.owners = append(e.owners, o)
	return o, nil
}

// pathOf is where the nodes of a lock lie.
func pathOf(name string) string { return root + "/" + url.PathEscape(name) }

// Close implements [adapter.Lock]: it ends every session.
func (e *ensemble) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for _, o := range e.owners {
		o.endSession()
	}
	if e.spare != nil {
		e.spare.end()
	}
	return nil
}

// Disconnect implements [adapter.Lock].
func (e *ensemble) Disconnect() error {
	e.ending.Wait()
	return nil
}

func (e *ensemble) closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// session is a session with the ensemble. done is closed when it has ended, or
// may have.
type session struct {
	of      *ensemble
	conn    *zk.Conn
	contact *contact
	done    chan struct{}
	once    sync.Once
}

// newSession opens a session.
func (e *ensemble) newSession(ctx context.Context) (*session, error) {
	c := &contact{}
	conn, events, err := zk.Connect(e.servers, e.lease, zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithDialer(c.dial))
	if err != nil {
		return nil, err
	}
	s := &session{of: e, conn: conn, contact: c, done: make(chan struct{})}
	for {
		select {
		case ev := <-events:
			if ev.State == zk.StateHasSession {
				e.ending.Go(func() { s.watch(events) })
				return s, nil
			}
		case <-ctx.Done():
			e.ending.Go(conn.Close)
			return nil, fmt.Errorf("open a session: %w", context.Cause(ctx))
		}
	}
}

// margin is the time before the end of a session at which a client without a connection
// counts it as over.
const margin = 250 * time.Millisecond

// watch closes the channel of a session that has ended. The ensemble says so, which needs
// a connection, or there was no connection for so long that it may have.
func (s *session) watch(events <-chan zk.Event) {
	var late <-chan time.Time
	for {
		select {
		case ev, more := <-events:
			switch {
			case !more, ev.State == zk.StateExpired:
				s.over()
				return
			case ev.State == zk.StateDisconnected && late == nil:
				late = time.After(time.Until(s.contact.last().Add(s.of.lease - margin)))
			case ev.State == zk.StateHasSession:
				late = nil
			}
		case <-late:
			s.end()
			return
		case <-s.done:
			return
		}
	}
}

func (s *session) over() { s.once.Do(func() { close(s.done) }) }

// end ends a session. That the ensemble hears of it is not waited for.
func (s *session) end() {
	s.over()
	s.of.ending.Go(s.conn.Close)
}

// owner is one owner's view of one lock, with a session of its own.
type owner struct {
	of   *ensemble
	path string

	mu      sync.Mutex
	session *session // nil while there is none
	held    *hold    // nil while nothing is held
}

// hold is a lock that has been granted, in the session that keeps it.
type hold struct {
	session *session
	lock    *zk.Lock
}

// errOver ends a wait that has lasted as long as it may.
var errOver = errors.New("the wait is over")

// Lock implements [lock.Locker].
func (o *owner) Lock(ctx context.Context, _ ...lock.AcquireOption) (lock.Grant, error) {
	return o.acquire(ctx, false)
}

// TryLock implements [lock.Locker].
func (o *owner) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	wait := lock.NewAcquire(opts).Wait
	limit := wait
	if wait <= 0 {
		limit = o.of.timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errOver)
	defer cancel()
	return o.acquire(ctx, wait <= 0)
}

// acquire takes the lock. The client's Lock waits for as long as it takes: a caller that
// wants to stop has to end the session.
func (o *owner) acquire(ctx context.Context, once bool) (lock.Grant, error) {
	if o.of.closed() {
		return lock.Grant{}, lock.ErrClosed
	}
	s, err := o.living(ctx)
	if err != nil {
		return lock.Grant{}, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	l := zk.NewLock(s.conn, o.path, zk.WorldACL(zk.PermAll))
	type outcome struct {
		token uint64
		err   error
	}
	done := make(chan outcome, 1)
	o.of.ending.Go(func() {
		if once {
			first, _, err := holder(s.conn, o.path)
			if err != nil || first != "" {
				done <- outcome{err: errors.Join(err, errHeld(first))}
				return
			}
		}
		err := l.Lock()
		var token uint64
		if err == nil && o.of.fenced {
			_, token, err = holder(s.conn, o.path)
		}
		done <- outcome{token, err}
	})
	select {
	case r := <-done:
		switch {
		case r.err == nil:
			return o.granted(&hold{s, l}, r.token), nil
		case errors.Is(r.err, lock.ErrBusy):
			return lock.Grant{}, r.err
		}
		err = r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.done:
		err = zk.ErrSessionExpired
	}
	o.endSession() // its node may be in the queue
	switch over := context.Cause(ctx); {
	case errors.Is(over, errOver):
		return lock.Grant{}, fmt.Errorf("%w: %w", lock.ErrBusy, err)
	case errors.Is(ctx.Err(), context.Canceled):
		return lock.Grant{}, errors.Join(lock.ErrUnknown, context.Canceled, err)
	}
	return lock.Grant{}, fmt.Errorf("%w: %v", lock.ErrUnknown, err)
}

// errHeld is the error of one try on a lock that is held by a node.
func errHeld(node string) error {
	if node == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is first", lock.ErrBusy, node)
}

// living is the owner's session, a new one where the last has ended.
func (o *owner) living(ctx context.Context) (*session, error) {
	o.mu.Lock()
	s := o.session
	o.mu.Unlock()
	if s != nil && !s.isOver() {
		return s, nil
	}
	o.endSession()
	s, err := o.of.newSession(ctx)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.session = s
	return s, nil
}

func (s *session) isOver() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (o *owner) granted(h *hold, token uint64) lock.Grant {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = h
	return lock.Grant{Count: 1, Lease: o.of.lease, Renewed: true, Token: token}
}

// sequenceDigits are those at the end of the name of a sequential node.
const sequenceDigits = 10

// holder is the first node of a lock, with the zxid at which it was created; ""
// where there is none.
func holder(c *zk.Conn, path string) (node string, zxid uint64, err error) {
	names, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) || err == nil && len(names) == 0 {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	first, least := "", -1
	for _, n := range names {
		seq, err := strconv.Atoi(n[max(0, len(n)-sequenceDigits):])
		if err == nil && (least < 0 || seq < least) {
			first, least = n, seq
		}
	}
	if first == "" {
		return "", 0, nil // another recipe, which has its nodes elsewhere
	}
	exists, stat, err := c.Exists(path + "/" + first)
	if err != nil || !exists {
		return "", 0, err
	}
	return path + "/" + first, uint64(stat.Czxid), nil
}

// Unlock implements [lock.Locker].
func (o *owner) Unlock(ctx context.Context) (int, error) {
	o.mu.Lock()
	h := o.held
	o.held = nil
	o.mu.Unlock()
	if h == nil {
		return 0, lock.ErrNotHeld
	}
	if h.session.isOver() {
		return 0, lock.ErrLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.of.timeout)
	defer cancel()
	done := make(chan error, 1)
	o.of.ending.Go(func() { done <- h.lock.Unlock() })
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	case <-h.session.done:
		err = zk.ErrConnectionClosed
	}
	switch {
	case err == nil:
		return 0, nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired):
		return 0, fmt.Errorf("%w: %v", lock.ErrLost, err)
	}
	o.endSession() // which would keep the hold
	return 0, fmt.Errorf("%w: %v", lock.ErrUnknown, err)
}

// HoldCount implements [lock.HoldCounter].
func (o *owner) HoldCount(ctx context.Context) (int, error) {
	o.mu.Lock()
	h := o.held
	o.mu.Unlock()
	if h == nil || h.session.isOver() {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.of.timeout)
	defer cancel()
	type outcome struct {
		mine bool
		err  error
	}
	done := make(chan outcome, 1)
	o.of.ending.Go(func() {
		first, _, err := holder(h.session.conn, o.path)
		if err != nil || first == "" {
			done <- outcome{err: err}
			return
		}
		_, stat, err := h.session.conn.Exists(first)
		done <- outcome{err == nil && stat.EphemeralOwner == h.session.conn.SessionID(), err}
	})
	select {
	case r := <-done:
		if r.err != nil {
			return 0, fmt.Errorf("%w: %v", lock.ErrUnknown, r.err)
		}
		if r.mine {
			return 1, nil
		}
		return 0, nil
	case <-h.session.done:
		return 0, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %v", lock.ErrUnknown, ctx.Err())
	}
}

// Lost implements [lock.LostNotifier].
func (o *owner) Lost() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		return nil
	}
	return o.held.session.done
}

// endSession ends the session, if there is one.
func (o *owner) endSession() {
	o.mu.Lock()
	s := o.session
	o.session = nil
	o.mu.Unlock()
	if s != nil {
		s.end()
	}
}
