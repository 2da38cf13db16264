package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"

	"github.com/holdfast-go/holdfast/lock"
)

// contest is one owner's way to a hold, a Mutex or a candidacy.
type contest interface {
	Lock(ctx context.Context) error
	TryLock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Key() string
	IsOwner() clientv3.Cmp
	Header() *etcdserverpb.ResponseHeader
	// takenBack: after an error, its key is not in the queue.
	takenBack() bool
}

type mutex struct{ *concurrency.Mutex }

func (m mutex) takenBack() bool { return m.Key() == "\x00" }

// candidate is a [contest] with an Election: a campaign acquires, and a resignation
// releases. Its value names the owner.
type candidate struct {
	*concurrency.Election
	value string
}

func (c candidate) Lock(ctx context.Context) error { return c.Campaign(ctx, c.value) }

// TryLock asks first, because an Election has no campaign without a wait.
func (c candidate) TryLock(ctx context.Context) error {
	switch _, err := c.Leader(ctx); {
	case err == nil:
		return concurrency.ErrLocked
	case !errors.Is(err, concurrency.ErrElectionNoLeader):
		return err
	}
	return c.Campaign(ctx, c.value)
}

func (c candidate) Unlock(ctx context.Context) error { return c.Resign(ctx) }

func (c candidate) IsOwner() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(c.Key()), "=", c.Rev())
}

// takenBack implements [contest]. A campaign whose first request had no answer has no
// revision, and its key may be there.
func (c candidate) takenBack() bool { return c.Key() == "" && c.Rev() != 0 }

// contest begins one for an owner.
func (m *mutexes) contest(s *concurrency.Session, o *owner) contest {
	switch {
	case m.elects():
		return candidate{concurrency.NewElection(s, prefix+o.name), m.process + "/" + o.thread}
	case m.kind == both:
		return &side{session: s, rw: recipe.NewRWMutex(s, prefix+o.name), shared: o.shared}
	}
	return mutex{concurrency.NewMutex(s, prefix+o.name)}
}

func (m *mutexes) elects() bool { return m.kind == elected || m.kind == watched }

// Observer implements [locks.Observer].
func (m *mutexes) Observer(name, _ string) func(context.Context) (string, error) {
	e := concurrency.NewElection(m.observer, prefix+name)
	if m.kind == watched {
		return m.watch(e)
	}
	return func(ctx context.Context) (holder string, err error) {
		ctx = clientv3.WithRequireLeader(ctx)
		err = insist(ctx, func() error {
			resp, err := e.Leader(ctx)
			if err == nil {
				holder = string(resp.Kvs[0].Value)
			}
			return err
		})
		if errors.Is(err, concurrency.ErrElectionNoLeader) {
			return "", nil
		}
		return holder, err
	}
}

// watch answers with the last value of Observe, as a process does that follows it. Before
// the first one it has no answer. It watches again when the channel has ended.
func (m *mutexes) watch(e *concurrency.Election) func(context.Context) (string, error) {
	var mu sync.Mutex
	leader := ""
	m.watches.Go(func() {
		for m.watching.Err() == nil {
			for resp := range e.Observe(m.watching) {
				mu.Lock()
				leader = string(resp.Kvs[0].Value)
				mu.Unlock()
			}
			rest(m.watching)
		}
	})
	return func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if leader == "" {
			return "", fmt.Errorf("%w: nothing was observed yet", lock.ErrUnknown)
		}
		return leader, nil
	}
}
