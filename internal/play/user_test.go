package play_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// leased is a lock with a lease on one key. It names the validity of its grants
// where valid is not 0.
type leased struct {
	rdb         redis.UniversalClient
	name, owner string
	lease       time.Duration
	valid       time.Duration
	token       func() uint64
}

func (l *leased) Lock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return l.TryLock(ctx, opts...)
}

func (l *leased) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	called := time.Now()
	for end := called.Add(lock.NewAcquire(opts).Wait); ; {
		switch ok, err := l.rdb.SetNX(ctx, l.name, l.owner, l.lease).Result(); {
		case err != nil:
			return lock.Grant{}, errors.Join(lock.ErrUnknown, err)
		case ok:
			g := lock.Grant{Count: 1}
			if l.valid > 0 {
				g.Until = called.Add(l.valid)
			}
			if l.token != nil {
				g.Token = l.token()
			}
			return g, nil
		case !time.Now().Before(end):
			return lock.Grant{}, lock.ErrBusy
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (l *leased) Unlock(ctx context.Context) (int, error) {
	switch is, err := l.rdb.Get(ctx, l.name).Result(); {
	case errors.Is(err, redis.Nil) || err == nil && is != l.owner:
		return 0, lock.ErrLost
	case err != nil:
		return 0, errors.Join(lock.ErrUnknown, err)
	}
	return 0, l.rdb.Del(ctx, l.name).Err()
}

type leasedSession struct {
	locks.Environment
	valid time.Duration
	token func() uint64
}

func (s leasedSession) Locker(name, thread string) lock.Locker {
	return &leased{s.Clients[0], name, s.Identity(thread), s.Lease, s.valid, s.token}
}
func (s leasedSession) Identity(thread string) string { return s.Process + ":" + thread }
func (leasedSession) Close() error                    { return nil }

// guest is such a lock as scenarios play it. token makes its tokens; nil for none.
func guest(t *testing.T, valid time.Duration, token func() uint64) *locks.Lock {
	t.Helper()
	d := locks.Description{Name: "leased", Claims: history.Claims{Waits: true, Lease: true, Fencing: token != nil}}
	l, err := locks.NewThirdParty(d, func(e locks.Environment) (locks.Session, error) { return leasedSession{e, valid, token}, nil })
	must.Succeed(t, err)
	return l
}

// worked plays a scenario whose work takes longer than the lease.
func worked(t *testing.T, l *locks.Lock, user string) *history.History {
	t.Helper()
	s, err := scenarios.Parse("slow.yaml", []byte(`
scenario: slow
title: Work that outlasts the lease
story: Work that outlasts the lease.
topology: {clients: 2}
workload: {holds: 1, lease: 5s, wait: 8s, think: 10s, stagger: 1s}
otherwise: Nothing is wrong.
`))
	must.Succeed(t, err)
	p, err := play.Simulate(s.PlayedBy(user), l, 1, "test")
	must.Succeed(t, err)
	return p.History
}

func first(h *history.History, kind history.Kind, f history.Func, client string) *history.Event {
	for i, e := range h.Events {
		if e.Kind == kind && e.F == f && e.Client == client {
			return &h.Events[i]
		}
	}
	return nil
}

// A careful user must stop when the validity that the grant names is over: a lock with a
// validity is judged by it.
func TestCarefulUserStopsAtNamedValidity(t *testing.T) {
	h := worked(t, guest(t, 3*time.Second, nil), history.Careful)
	grant, stop := first(h, history.OK, history.Acquire, "client-1"), first(h, history.Note, history.Stopped, "client-1")
	if h.Header.User != history.Careful || grant == nil || stop == nil {
		t.Fatalf("user %q, grant %v, stop %v", h.Header.User, grant, stop)
	}
	if grant.Result.Until == 0 || stop.Time != grant.Result.Until {
		t.Errorf("stopped at %d, and the validity that was named ends at %d", stop.Time, grant.Result.Until)
	}
	if first(h, history.Invoke, history.Write, "client-1") != nil {
		t.Error("it writes after it stopped")
	}
	if first(h, history.Invoke, history.Release, "client-1") == nil {
		t.Error("it does not release")
	}
}

// Where no validity is named, a careful user counts the lease from a call that does not
// wait. Any other time would let it work on a lease that has ended.
func TestCarefulUserCountsTheLease(t *testing.T) {
	h := worked(t, guest(t, 0, nil), history.Careful)
	call, stop := first(h, history.Invoke, history.Acquire, "client-1"), first(h, history.Note, history.Stopped, "client-1")
	if stop == nil || stop.Time != call.Time+int64(5*time.Second) {
		t.Fatalf("called at %v, stopped %v", call, stop)
	}
	for _, e := range h.Events {
		if e.Kind == history.Invoke && e.F == history.Acquire && e.Args.Wait != 0 {
			t.Fatalf("an acquire waits: %+v", e)
		}
	}
}

// A careless user works for as long as the work takes, and the history says
// nothing of it.
func TestCarelessUserWorksOn(t *testing.T) {
	h := worked(t, guest(t, 3*time.Second, nil), "")
	if h.Header.User != "" || first(h, history.Note, history.Stopped, "client-1") != nil || first(h, history.OK, history.Write, "client-1") == nil {
		t.Errorf("user %q stops, or does not write", h.Header.User)
	}
}

// The resource refuses a read whose token is older than one it has seen. A transaction
// that reads with an old token would else decide on it.
func TestStaleTokenOnRead(t *testing.T) {
	next := uint64(10)
	h := worked(t, guest(t, 0, func() uint64 { next--; return next }), history.Careful)
	read := first(h, history.Fail, history.Read, "client-2")
	if read == nil || read.Result.Error != history.ErrStale {
		t.Fatalf("client-2 reads with an older token than client-1 did: %v", read)
	}
	if first(h, history.Invoke, history.Write, "client-2") != nil {
		t.Error("it writes what it could not read")
	}
}
