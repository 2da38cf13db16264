package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// sessionOwner is one owner's view of a lock that lasts as long as the session,
// or the transaction, that took it. A hold has a connection to itself.
type sessionOwner struct {
	of   *client
	name string
	kind kind

	mu   sync.Mutex
	held *session // nil while nothing is held
}

// session is a connection that holds the lock.
type session struct {
	conn *sql.Conn
	lost chan struct{} // closed when the hold is; nil without a reader
	gone atomic.Bool   // somebody looked, and it was
	over chan struct{} // closed when no caller needs the hold any more
	done sync.WaitGroup
	once sync.Once
}

// Lock implements [lock.Locker].
func (o *sessionOwner) Lock(ctx context.Context, _ ...lock.AcquireOption) (lock.Grant, error) {
	return o.acquire(ctx, o.kind.take, 0)
}

// answerMargin is the time that the server's answer that a wait is over may take to
// arrive.
const answerMargin = 50 * time.Millisecond

// TryLock implements [lock.Locker].
func (o *sessionOwner) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	query, limit := o.kind.try, o.of.timeout
	wait := lock.NewAcquire(opts).Wait
	if wait > 0 {
		query, limit = o.kind.take, wait+answerMargin
	}
	within, cancel := context.WithTimeoutCause(ctx, limit, errOver)
	defer cancel()
	return o.acquire(within, query, wait)
}

func (o *sessionOwner) acquire(ctx context.Context, query string, wait time.Duration) (lock.Grant, error) {
	if o.of.closed() {
		return lock.Grant{}, lock.ErrClosed
	}
	conn, err := o.of.db.Conn(ctx)
	if err != nil {
		return lock.Grant{}, o.notConnected(ctx, err)
	}
	taken, err := o.take(ctx, conn, query, wait)
	switch {
	case err == nil && taken:
		return o.granted(conn), nil
	case err == nil, o.of.base.timedOut(err):
		if err := o.letGo(conn); err != nil {
			discard(conn)
		}
		return lock.Grant{}, lock.ErrBusy
	}
	discard(conn) // with the session goes what it may have been granted
	if over := context.Cause(ctx); errors.Is(over, errOver) {
		return lock.Grant{}, fmt.Errorf("%w: %v", lock.ErrUnknown, err)
	}
	return lock.Grant{}, unclear(ctx, err)
}

// notConnected is the error of an acquire that found no server: nothing was
// asked of any.
func (o *sessionOwner) notConnected(ctx context.Context, err error) error {
	switch over := context.Cause(ctx); {
	case errors.Is(over, errOver):
		return fmt.Errorf("%w: %v", lock.ErrRefused, err)
	case over != nil:
		return over
	}
	return fmt.Errorf("%w: %v", lock.ErrRefused, err)
}

// take asks for the lock on a connection.
func (o *sessionOwner) take(ctx context.Context, conn *sql.Conn, query string, wait time.Duration) (bool, error) {
	var before []string
	if query == o.kind.take {
		before = append(before, o.kind.limit(wait))
	}
	if o.kind.begin != "" {
		before = append(before, o.kind.begin)
	}
	for _, q := range before {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return false, err
		}
	}
	var taken sql.NullBool
	err := conn.QueryRowContext(ctx, query, o.name).Scan(&taken)
	if errors.Is(err, sql.ErrNoRows) && o.kind.row {
		err = o.makeRow(ctx, conn)
		if err == nil {
			err = conn.QueryRowContext(ctx, query, o.name).Scan(&taken)
		}
	}
	if err == nil && taken.Bool && o.of.bounded {
		_, err = conn.ExecContext(ctx, o.kind.bound(o.of.lease))
	}
	return taken.Bool, err
}

// makeRow makes the row that is to be locked, and begins anew.
func (o *sessionOwner) makeRow(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, o.of.base.ensure, o.name); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, o.kind.begin)
	return err
}

// letGo ends what an acquire without a grant has begun, and gives the
// connection back.
func (o *sessionOwner) letGo(conn *sql.Conn) error {
	if o.kind.begin != "" {
		ctx, cancel := context.WithTimeout(o.of.life, o.of.timeout)
		defer cancel()
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			return err
		}
	}
	return conn.Close()
}

// discard closes a connection for good.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

func (o *sessionOwner) granted(conn *sql.Conn) lock.Grant {
	s := &session{conn: conn, over: make(chan struct{})}
	g := lock.Grant{Count: 1}
	if o.of.bounded {
		g.Lease, g.Renewed = o.of.lease, true
		s.lost = make(chan struct{})
		s.done.Go(func() { o.keep(s, time.Now()) })
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = s
	return g
}

// margin is the time between the notice to a holder and the earliest end of its session
// by the server.
const margin = 100 * time.Millisecond

// keep speaks to the server, which ends a session that is silent for a lease,
// and tells when it has done so, or may have.
func (o *sessionOwner) keep(s *session, last time.Time) {
	for {
		select {
		case <-time.After(o.of.lease / 3):
		case <-s.over:
			return
		}
		sent := time.Now()
		ctx, cancel := context.WithDeadline(o.of.life, last.Add(o.of.lease-margin))
		_, err := s.conn.ExecContext(ctx, "SELECT 1")
		cancel()
		select {
		case <-s.over:
			return
		default:
		}
		if err != nil {
			close(s.lost)
			return
		}
		last = sent
	}
}

// finish ends the watch over a session.
func (s *session) finish() {
	s.once.Do(func() { close(s.over) })
}

// Unlock implements [lock.Locker].
func (o *sessionOwner) Unlock(ctx context.Context) (int, error) {
	o.mu.Lock()
	s := o.held
	o.held = nil
	o.mu.Unlock()
	if s == nil {
		return 0, lock.ErrNotHeld
	}
	s.finish()
	if s.isLost() || s.gone.Load() {
		discard(s.conn)
		return 0, lock.ErrLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.of.timeout)
	defer cancel()
	had, err := o.give(ctx, s.conn)
	if err != nil {
		discard(s.conn)
		if o.of.base.ended(err) || !o.of.base.unsure && o.over(err) {
			return 0, fmt.Errorf("%w: %v", lock.ErrLost, err)
		}
		return 0, unclear(ctx, err)
	}
	if err := s.conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return 0, err
	}
	if !had {
		return 0, lock.ErrLost
	}
	return 0, nil
}

// give lets go of the lock, and says whether it was held.
func (o *sessionOwner) give(ctx context.Context, conn *sql.Conn) (had bool, err error) {
	if o.kind.answer {
		var answer sql.NullBool
		err = conn.QueryRowContext(ctx, o.kind.give, o.name).Scan(&answer)
		had = answer.Bool
	} else {
		_, err = conn.ExecContext(ctx, o.kind.give)
		had = true
	}
	if err == nil && o.of.bounded && o.kind.unbound != "" {
		if _, err := conn.ExecContext(ctx, o.kind.unbound); err != nil {
			discard(conn)
		}
	}
	return had, err
}

// over says that an error tells that the session had ended before.
func (o *sessionOwner) over(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || o.of.base.ended(err)
}

func (s *session) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// HoldCount implements [lock.HoldCounter].
func (o *sessionOwner) HoldCount(ctx context.Context) (int, error) {
	o.mu.Lock()
	s := o.held
	o.mu.Unlock()
	if s == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.of.timeout)
	defer cancel()
	var held sql.NullBool
	var args []any
	if strings.ContainsAny(o.kind.held, "?$") {
		args = append(args, o.name)
	}
	if err := s.conn.QueryRowContext(ctx, o.kind.held, args...).Scan(&held); err != nil {
		if o.over(err) || ctx.Err() == nil { // a connection that breaks ends the session
			s.gone.Store(true)
			return 0, nil
		}
		return 0, unclear(ctx, err)
	}
	if held.Bool {
		return 1, nil
	}
	return 0, nil
}

// Lost implements [lock.LostNotifier].
func (o *sessionOwner) Lost() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		return nil
	}
	return o.held.lost
}

// end ends the session, if there is one.
func (o *sessionOwner) end() {
	o.mu.Lock()
	s := o.held
	o.held = nil
	o.mu.Unlock()
	if s != nil {
		s.finish()
		discard(s.conn)
	}
}
