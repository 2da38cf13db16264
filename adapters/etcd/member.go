package main

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// member is a running member of the cluster.
type member struct {
	etcd *embed.Etcd
}

// startMember starts a member and returns when it has found a majority.
func startMember(ctx context.Context, s settings) (*member, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	e, err := embed.StartEtcd(c)
	if err != nil {
		return nil, fmt.Errorf("start a member: %w", err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return &member{e}, nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return nil, fmt.Errorf("start a member: %w", err)
}

// leader names who leads, "" while the member knows of nobody.
func (m *member) leader() string {
	for _, x := range m.etcd.Server.Cluster().Members() {
		if uint64(x.ID) == m.etcd.Server.Lead() {
			return x.Name
		}
	}
	return ""
}

// handOver lets another member lead, of which only the leader can see to it.
func (m *member) handOver(ctx context.Context, to string) error {
	s := m.etcd.Server
	if s.Lead() != uint64(s.MemberID()) {
		return errors.New("this member does not lead")
	}
	for _, x := range s.Cluster().Members() {
		if x.Name == to {
			return s.MoveLeader(ctx, s.Lead(), uint64(x.ID))
		}
	}
	return fmt.Errorf("there is no member %q", to)
}

// keys are those of locks that a majority agrees on.
func (m *member) keys(ctx context.Context) ([]string, error) {
	resp, err := m.etcd.Server.Range(ctx, &etcdserverpb.RangeRequest{
		Key: []byte(prefix), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(prefix)), KeysOnly: true,
	})
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, nil
}

// deleteHolder deletes the key of whoever holds a lock: the one that was
// created first.
func (m *member) deleteHolder(ctx context.Context, name string) error {
	c := v3client.New(m.etcd.Server)
	defer c.Close()
	resp, err := c.Get(ctx, prefix+name+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 {
		return fmt.Errorf("nobody holds %q", name)
	}
	_, err = c.Delete(ctx, string(resp.Kvs[0].Key))
	return err
}
