package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/lock"
)

// The settings of the client, in the time of a world where a second is one.
const (
	dialTimeout = 5 * time.Second
	// keepAlive and keepAliveTimeout find a dead connection that does not break. gRPC
	// pings no more often than every ten seconds.
	keepAlive, keepAliveTimeout = 10 * time.Second, 3 * time.Second
	// requestTimeout bounds what has no bound of its own: one try, and a release.
	requestTimeout = 5 * time.Second
)

// prefix is where the locks lie; a holder's key is prefix, name, "/" and lease.
const prefix = "/holdfast/"

// mutexes is the lock under test in a client process: a client of etcd, with a
// session for every owner.
type mutexes struct {
	client  *clientv3.Client
	process string
	kind    string // the name of the lock
	ttl     int    // seconds
	timeout time.Duration

	observer *concurrency.Session // of an Election, for observers
	watching context.Context      // ends with the lock
	ignore   context.CancelFunc
	watches  sync.WaitGroup

	mu      sync.Mutex
	spare   *concurrency.Session // for the first owner; nil when it is taken
	owners  []*owner
	ended   bool
	revokes sync.WaitGroup
}

func open(h adapter.Hello) (adapter.Lock, error) {
	if !slices.Contains(kinds, h.Lock) {
		return nil, fmt.Errorf("there is no lock %q here", h.Lock)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: h.Redis.Primaries, Logger: zap.NewNop(), DialTimeout: h.Redis.Scaled(dialTimeout),
		DialKeepAliveTime: h.Redis.Scaled(keepAlive), DialKeepAliveTimeout: h.Redis.Scaled(keepAliveTimeout),
	})
	if err != nil {
		return nil, err
	}
	m := &mutexes{client: client, process: h.Process, kind: h.Lock, ttl: wholeSeconds(time.Duration(h.LeaseNS)), timeout: h.Redis.Scaled(requestTimeout)}
	m.watching, m.ignore = context.WithCancel(clientv3.WithRequireLeader(context.Background()))
	// A process that has been up for a while is connected, and has a session.
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(context.Background()), dialTimeout)
	defer cancel()
	if m.spare, err = m.newSession(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open a session: %w", err), client.Close())
	}
	if m.elects() {
		if m.observer, err = m.newSession(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open a session: %w", err), client.Close())
		}
	}
	return m, nil
}

// wholeSeconds rounds a lease up: etcd has no parts of a second.
func wholeSeconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

// Describe implements [adapter.Described].
func (m *mutexes) Describe() (name, ver string) {
	return "go.etcd.io/etcd/client/v3/concurrency", version.Version
}

// Identity implements [adapter.Lock]. The lease of a session stands for an owner on the
// servers, and it does not exist before the session.
func (m *mutexes) Identity(string) string { return "" }

// Locker implements [adapter.Lock].
func (m *mutexes) Locker(name, thread string) (lock.Locker, error) {
	return m.newOwner(name, thread, false), nil
}

// ShareLocker is [mutexes.Locker] for a reader.
func (m *mutexes) ShareLocker(name, thread string, _ history.Share) lock.Locker {
	return m.newOwner(name, thread, true)
}

func (m *mutexes) newOwner(name, thread string, shared bool) *owner {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := &owner{of: m, name: name, thread: thread, shared: shared, session: m.spare}
	m.spare = nil
	m.owners = append(m.owners, o)
	return o
}

// Close implements [adapter.Lock]: it ends every session, and with it whatever
// the session holds.
func (m *mutexes) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	for _, o := range m.owners {
		o.endSession()
	}
	for _, s := range []*concurrency.Session{m.spare, m.observer} {
		if s != nil {
			m.end(s)
		}
	}
	m.ignore()
	return nil
}

// newSession opens a session. NewSession alone would ask for the lease under
// the client's context, which has no end.
func (m *mutexes) newSession(ctx context.Context) (*concurrency.Session, error) {
	var lease *clientv3.LeaseGrantResponse
	err := insist(ctx, func() (err error) {
		lease, err = m.client.Grant(ctx, int64(m.ttl))
		return err
	})
	if err != nil {
		return nil, err
	}
	return concurrency.NewSession(m.client, concurrency.WithTTL(m.ttl), concurrency.WithLease(lease.ID))
}

// end ends a session. That its lease is revoked too is not waited for: where
// no server can be reached, it ends by itself.
func (m *mutexes) end(s *concurrency.Session) {
	s.Orphan()
	m.revokes.Go(func() {
		ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(context.Background()), m.timeout)
		defer cancel()
		_ = insist(ctx, func() error {
			_, err := m.client.Revoke(ctx, s.Lease())
			return err
		})
	})
}

// Disconnect implements [adapter.Lock].
func (m *mutexes) Disconnect() error {
	m.revokes.Wait()
	m.watches.Wait()
	return m.client.Close()
}

func (m *mutexes) closed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}
