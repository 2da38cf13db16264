package main

// Findings in etcd's Election, without the harness: each test is as short a way as there
// is to see one. One that fails shows that the library has changed.

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/internal/must"
)

// contestants start the members, and open two elections of one name.
func contestants(t *testing.T) (c *clientv3.Client, one, two *concurrency.Election, second *concurrency.Session) {
	t.Helper()
	w, _ := start(t, elected, 1)
	access, err := w.Access("client-1")
	must.Succeed(t, err)
	c, err = clientv3.New(clientv3.Config{Endpoints: access.Primaries, Logger: zap.NewNop()})
	must.Succeed(t, err)
	t.Cleanup(func() { _ = c.Close() })
	first, err := concurrency.NewSession(c, concurrency.WithTTL(60))
	must.Succeed(t, err)
	second, err = concurrency.NewSession(c, concurrency.WithTTL(60))
	must.Succeed(t, err)
	return c, concurrency.NewElection(first, "/found"), concurrency.NewElection(second, "/found"), second
}

// A campaign that ends with another error than that of its context leaves its candidate in
// the queue, and Resign does nothing: https://github.com/etcd-io/etcd/issues/21128.
func TestCampaignLeavesItsKey(t *testing.T) {
	c, one, two, _ := contestants(t)
	must.Succeed(t, one.Campaign(t.Context(), "one"))
	ended := make(chan error, 1)
	go func() { ended <- two.Campaign(t.Context(), "two") }()
	for candidates(t, c) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	// The watch of the candidate ends with its client's connection to the watcher.
	must.Succeed(t, c.Watcher.Close())
	if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
		t.Fatalf("the campaign ended with %v", err)
	}
	must.Succeed(t, two.Resign(t.Context()))
	must.Succeed(t, one.Resign(t.Context()))
	leader, err := one.Leader(t.Context())
	must.Succeed(t, err)
	if got := string(leader.Kvs[0].Value); got != "two" {
		t.Errorf("%s leads, want the candidate that has resigned", got)
	}
}

// A resignation that reached no server is forgotten, and the second one succeeds without a
// request: https://github.com/etcd-io/etcd/issues/22123.
func TestResignForgets(t *testing.T) {
	_, one, _, _ := contestants(t)
	must.Succeed(t, one.Campaign(t.Context(), "one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := one.Resign(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("resigned: %v", err)
	}
	must.Succeed(t, one.Resign(t.Context()))
	leader, err := one.Leader(t.Context())
	if err != nil || string(leader.Kvs[0].Value) != "one" {
		t.Errorf("%v leads, %v", leader, err)
	}
}

// A candidate whose session has ended while it waited wins its campaign without a key.
func TestCampaignWonWithoutKey(t *testing.T) {
	c, one, two, second := contestants(t)
	must.Succeed(t, one.Campaign(t.Context(), "one"))
	ended := make(chan error, 1)
	go func() { ended <- two.Campaign(t.Context(), "two") }()
	for candidates(t, c) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	_, err := c.Revoke(t.Context(), second.Lease())
	must.Succeed(t, err)
	must.Succeed(t, one.Resign(t.Context()))
	if err := <-ended; err != nil {
		t.Errorf("the campaign ended with %v", err)
	}
	if _, err := two.Leader(t.Context()); !errors.Is(err, concurrency.ErrElectionNoLeader) {
		t.Errorf("somebody leads: %v", err)
	}
}

// Observe does not tell that the leader has resigned.
func TestObserveTellsNoEnd(t *testing.T) {
	_, one, two, _ := contestants(t)
	must.Succeed(t, one.Campaign(t.Context(), "one"))
	seen := two.Observe(t.Context())
	if got := string((<-seen).Kvs[0].Value); got != "one" {
		t.Fatalf("%s is observed", got)
	}
	must.Succeed(t, one.Resign(t.Context()))
	select {
	case resp := <-seen:
		t.Errorf("observed %v", resp)
	case <-time.After(time.Second):
	}
}

// A leader whose key was deleted does not learn of it. Its session lives, another process
// leads, and its resignation reports success.
func TestLeaderWithoutKeyLeadsOn(t *testing.T) {
	c, one, two, _ := contestants(t)
	must.Succeed(t, one.Campaign(t.Context(), "one"))
	_, err := c.Delete(t.Context(), one.Key())
	must.Succeed(t, err)
	must.Succeed(t, two.Campaign(t.Context(), "two"))
	must.Succeed(t, one.Resign(t.Context()))
	leader, err := one.Leader(t.Context())
	if err != nil || string(leader.Kvs[0].Value) != "two" {
		t.Errorf("%v leads, %v", leader, err)
	}
}

func candidates(t *testing.T, c *clientv3.Client) int64 {
	t.Helper()
	resp, err := c.Get(t.Context(), "/found/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	must.Succeed(t, err)
	return resp.Count
}

// A writer whose session has ended while it waited gets an RWMutex without a key, and works
// beside the next one.
func TestRWMutexGrantedWithoutKey(t *testing.T) {
	c, _, _, second := contestants(t)
	session := func() *concurrency.Session {
		s, err := concurrency.NewSession(c, concurrency.WithTTL(60))
		must.Succeed(t, err)
		return s
	}
	one, two, three := recipe.NewRWMutex(session(), "/both"), recipe.NewRWMutex(second, "/both"), recipe.NewRWMutex(session(), "/both")
	waiting := func(n int64) {
		for {
			resp, err := c.Get(t.Context(), "/both/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			must.Succeed(t, err)
			if resp.Count == n {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	must.Succeed(t, one.Lock())
	ended := make(chan error, 2)
	go func() { ended <- two.Lock() }()
	waiting(2)
	_, err := c.Revoke(t.Context(), second.Lease())
	must.Succeed(t, err)
	go func() { ended <- three.Lock() }()
	waiting(2)
	must.Succeed(t, one.Unlock())
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("a writer ended with %v", err)
		}
	}
}
