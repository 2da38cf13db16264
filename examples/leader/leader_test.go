package leader_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/examples/leader"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest"
)

// process is a process with a candidate for each role and owner.
type process struct {
	c     *locktest.Client
	locks *lock.Client
}

func (p *process) Locker(name, owner string) lock.Locker {
	m := leader.New(p.c.Redis, p.locks, name, owner)
	var term uint64
	return &locktest.Funcs{
		Acquire: func(ctx context.Context) (err error) {
			term, err = m.Campaign(ctx)
			return err
		},
		Release:  m.Resign,
		Holder:   m.Leader,
		Token:    func() uint64 { return term },
		LostSign: m.Lost,
	}
}

func (p *process) Close() error { return p.locks.Close() }

// Failovers, pauses and losses while somebody leads, and while others ask who does.
func TestLeader(t *testing.T) {
	locktest.Run(t, locktest.Lock{
		Name:    "leader",
		Claims:  locktest.Claims{Waits: true, Cancels: true, Closes: true, Lease: true, Renewal: true, Fencing: true, LostSign: true, Observes: true},
		Handoff: time.Second,
		Keeps:   []string{"holdfast_lock_token:{{name}}"},
		Open: func(c *locktest.Client) (locktest.Session, error) {
			locks, err := lock.New(c.Redis, lock.WithID(c.ID), lock.WithRand(c.Rand("lock")), lock.WithFencing(), lock.WithWatchdogTimeout(c.Lease))
			return &process{c, locks}, err
		},
	}, locktest.Scenarios(
		"leader-failover", "leader-pause", "leader-cut-off", "holder-crash", "holder-pause", "partitioned-holder",
		"failover-lost-write", "isolated-primary", "restart-without-data", "key-deleted", "closed-while-held",
	), locktest.Crossed(200))
}

// A leader that loses its role learns of it, and campaigns again.
func TestLead(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	locks, err := lock.New(rdb, lock.WithFencing())
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	ctx, stop := context.WithCancel(t.Context())
	c := leader.New(rdb, locks, "boss", "a")
	var terms []uint64
	err = c.Lead(ctx, func(during context.Context, term uint64) error {
		if id, err := c.Leader(ctx); id != "a" || err != nil {
			t.Errorf("%q leads: %v", id, err)
		}
		if terms = append(terms, term); len(terms) == 2 {
			stop()
			return nil
		}
		if _, err := locks.NewLock("boss", "somebody").ForceUnlock(ctx); err != nil {
			t.Error(err)
		}
		<-during.Done()
		if !errors.Is(context.Cause(during), lock.ErrLost) {
			t.Errorf("the work ended with %v", context.Cause(during))
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(terms) != 2 || terms[1] <= terms[0] {
		t.Errorf("led with %v in the terms %v", err, terms)
	}
	if id, err := c.Leader(t.Context()); id != "" || err != nil {
		t.Errorf("%q leads after the last resignation: %v", id, err)
	}
}
