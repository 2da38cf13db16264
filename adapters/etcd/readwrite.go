package main

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
)

// tryPatience is the wait of a single try, which an RWMutex has not.
const tryPatience = 500 * time.Millisecond

// side is a [contest] with an RWMutex, as a writer or as a reader. An RWMutex waits without
// end, and heeds no context. So a side that gives up ends its session, and its key with it.
type side struct {
	session *concurrency.Session
	rw      *recipe.RWMutex
	shared  bool
	gone    bool // the session has been ended, for certain
}

func (s *side) Lock(ctx context.Context) error {
	acquire := s.rw.Lock
	if s.shared {
		acquire = s.rw.RLock
	}
	err := within(ctx, acquire)
	if ctx.Err() != nil {
		s.gone = s.session.Close() == nil
	}
	return err
}

func (s *side) TryLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryPatience)
	defer cancel()
	if err := s.Lock(ctx); err == nil || ctx.Err() == nil {
		return err
	}
	return concurrency.ErrLocked
}

func (s *side) Unlock(ctx context.Context) error {
	if s.shared {
		return within(ctx, s.rw.RUnlock)
	}
	return within(ctx, s.rw.Unlock)
}

// within runs what heeds no context until ctx ends. It may go on after that.
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Key, IsOwner and Header implement [contest]. An RWMutex tells nothing of its key.
func (*side) Key() string                          { return "" }
func (*side) IsOwner() clientv3.Cmp                { return clientv3.Cmp{} }
func (*side) Header() *etcdserverpb.ResponseHeader { return nil }

func (s *side) takenBack() bool { return s.gone }
