package locktest

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/room"
)

// twoPermitsLock is a semaphore of two permits, right but for a mistake.
func twoPermitsLock(mistake string) Lock {
	const permits = 2
	l := roomLock(mistake)
	l.Name, l.Claims.Permits = "permits", permits
	l.Open = onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
		m := &room.Room{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Capacity: permits, Mistake: mistake}
		return &Funcs{Acquire: func(ctx context.Context) error { return m.Enter(ctx, 1) }, Release: m.Leave, Until: m.Until}
	})
	return l
}

// weightedLock is a semaphore of three permits whose acquires can take several, right but
// for a mistake. An owner whose acquire had no answer may have its permits, and ask for more.
func weightedLock(mistake string) Lock {
	const permits = 3
	l := byAttempt(roomLock(mistake))
	l.Name, l.Claims.Permits, l.Claims.Weighted = "weighted", permits, true
	l.Open = onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
		m := &room.Room{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Capacity: permits, Mistake: mistake, Abandons: true}
		return &Funcs{
			Acquire: func(ctx context.Context) error { return m.Enter(ctx, 1) }, Release: m.Leave, Until: m.Until,
			AcquirePermits: m.Enter, ReleasePermits: func(ctx context.Context, _ int) error { return m.Leave(ctx) },
		}
	})
	return l
}

// readersLock is a lock for readers and writers, right but for a mistake.
func readersLock(mistake string) Lock {
	l := roomLock(mistake)
	l.Name, l.Claims.ReadWrite, l.Open = "readers", true, openBoth(mistake, false)
	l.Claims.Upgrades, l.Claims.Downgrades = true, true
	return l
}

// queuedReadersLock is one whose readers wait behind writers who wait, right but for a mistake.
func queuedReadersLock(mistake string) Lock {
	l := byAttempt(readersLock(mistake))
	l.Name, l.Claims.PrefersWriters, l.Handoff, l.Open = "queued-readers", true, 1200*time.Millisecond, openBoth(mistake, true)
	return l
}

// openBoth makes the Open of a lock for readers and writers.
func openBoth(mistake string, queues bool) func(*Client) (Session, error) {
	const all = 1000
	return onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
		w := &room.Room{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Capacity: all, Queues: queues, Abandons: queues, Mistake: mistake}
		r := *w
		last := w
		enter := func(m *room.Room, weight int) func(context.Context) error {
			return func(ctx context.Context) error {
				last = m
				return m.Enter(ctx, weight)
			}
		}
		return &Funcs{
			Acquire: enter(w, all), Release: w.Leave, Until: func() time.Time { return last.Until() },
			AcquireShared: enter(&r, 1), ReleaseShared: r.Leave,
		}
	})
}

// quorumPermitsLock is a semaphore of two permits on all of three servers. With the mistake
// "majority" it needs two of them, and lets three owners in.
func quorumPermitsLock(mistake string) Lock {
	l := roomLock(mistake)
	l.Name, l.Claims.Permits, l.Primaries, l.Quorum, l.Handoff = "quorum-permits", 2, 3, 3, time.Second
	if mistake == "majority" {
		l.Quorum = 2
	}
	l.Open = onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
		q := &room.Quorum{Needed: l.Quorum, Rand: c.Rand(name, owner)}
		for _, rdb := range on {
			q.Servers = append(q.Servers, &room.Room{Redis: rdb, Name: name, Owner: owner, Lease: c.Lease, Capacity: l.Claims.Permits})
		}
		return &Funcs{Acquire: q.Enter, Release: q.Leave, Until: q.Until}
	})
	return l
}

func roomLock(mistake string) Lock {
	return Lock{
		Claims: Claims{Waits: true, Lease: true, Cancels: true}, StoresOwner: true, Handoff: room.Poll, Reaches: reached,
		Busy: room.ErrFull, NotHeld: room.ErrNotHeld, Classify: unclear(room.ErrUnclear),
		Holders: func(v View) (holds []Hold) {
			for _, member := range v.Items(v.Name) {
				weight, attempt, _ := strings.Cut(member, ":")
				owner, _, _ := strings.Cut(attempt, "#")
				hold := Hold{Owner: owner, Shared: weight == "1", End: time.UnixMilli(int64(v.Score(v.Name, member)))}
				if n, _ := strconv.Atoi(weight); n <= 3 { // a writer weighs more, and has one hold
					hold.Count = n
				}
				if mistake == "shared-lease" {
					hold.End = v.End(v.Name)
				}
				holds = append(holds, hold)
			}
			return holds
		},
	}
}

// byAttempt makes a lock whose author does not say who made an attempt.
func byAttempt(l Lock) Lock {
	holders := l.Holders
	l.StoresOwner = false
	l.Holders = func(v View) (holds []Hold) {
		holds = holders(v)
		for i, member := range v.Items(v.Name) {
			holds[i].Owner = member
		}
		return holds
	}
	return l
}

// unread makes a lock whose author does not say how to read its keys.
func unread(of func(mistake string) Lock) func(mistake string) Lock {
	return func(mistake string) Lock {
		l := of(mistake)
		l.Name, l.Holders = l.Name+"-unread", nil
		return l
	}
}
