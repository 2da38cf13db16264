package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// A member notices the death of its leader after five to ten ticks. These are half of
// etcd's defaults, so that the least lease there can be is a second. etcd grants none
// that is shorter than one and a half elections.
const tickMS, electionMS = 50, 500

// member is a member of the cluster.
type member struct {
	config *embed.Config
	etcd   *embed.Etcd // once it was started
	failed chan error
}

func newMember(s bundled.Settings) (bundled.Server, error) {
	c, err := config(s)
	return &member{config: c, failed: make(chan error, 1)}, err
}

// Start implements [bundled.Server]: it returns when the member has found a majority.
func (m *member) Start(ctx context.Context) error {
	e, err := embed.StartEtcd(m.config)
	if err != nil {
		return fmt.Errorf("start a member: %w", err)
	}
	m.etcd = e
	select {
	case <-e.Server.ReadyNotify():
		go func() { m.failed <- <-e.Err() }()
		return nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	return fmt.Errorf("start a member: %w", err)
}

// Failed implements [bundled.Server].
func (m *member) Failed() <-chan error { return m.failed }

// Stop implements [bundled.Server].
func (m *member) Stop() {
	if m.etcd != nil {
		m.etcd.Close()
	}
}

// Leadership implements [bundled.Electing].
func (m *member) Leadership(context.Context) (bundled.Leadership, error) {
	return bundled.Leadership{Leader: m.leader(), Term: int(m.etcd.Server.Term())}, nil
}

// leader names the leader, "" while the member has found none.
func (m *member) leader() string {
	for _, x := range m.etcd.Server.Cluster().Members() {
		if uint64(x.ID) == m.etcd.Server.Lead() {
			return x.Name
		}
	}
	return ""
}

// HandOver implements [bundled.Server].
func (m *member) HandOver(ctx context.Context, to string) error {
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

// Keys implements [bundled.Server]: the keys that a majority agrees on.
func (m *member) Keys(ctx context.Context) ([]string, error) {
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

// Delete implements [bundled.Server]. The key that was created first is the holder's.
func (m *member) Delete(ctx context.Context, name string) error {
	c := v3client.New(m.etcd.Server)
	defer c.Close()
	resp, err := c.Get(ctx, prefix+name+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return err
	}
	if len(resp.Kvs) == 0 {
		return fmt.Errorf("no owner holds %q", name)
	}
	_, err = c.Delete(ctx, string(resp.Kvs[0].Key))
	return err
}

// config is that of a member. Nothing is synced to the disk: what crashes is
// the process, and the machine goes on.
func config(s bundled.Settings) (*embed.Config, error) {
	c := embed.NewConfig()
	c.Name, c.Dir = s.Name, s.Data
	c.Logger, c.LogOutputs, c.LogLevel = "zap", []string{"stderr"}, "warn"
	c.TickMs, c.ElectionMs = tickMS, electionMS
	c.UnsafeNoFsync, c.EnableGRPCGateway = true, false
	var initial []string
	for name, addr := range s.Members {
		initial = append(initial, name+"=http://"+addr)
	}
	slices.Sort(initial)
	c.InitialCluster, c.InitialClusterToken = strings.Join(initial, ","), "holdfast"
	for _, to := range []struct {
		urls *[]url.URL
		addr string
	}{
		{&c.ListenClientUrls, s.Client}, {&c.AdvertiseClientUrls, s.Client},
		{&c.ListenPeerUrls, s.Peer}, {&c.AdvertisePeerUrls, s.Members[s.Name]},
	} {
		u, err := url.Parse("http://" + to.addr)
		if err != nil || to.addr == "" {
			return nil, fmt.Errorf("the settings of %q have no good address: %q", s.Name, to.addr)
		}
		*to.urls = []url.URL{*u}
	}
	return c, nil
}
