package locktest

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/reported"
)

// The locks of testdata/reported.md: designs that people use, and the mistakes that
// they reported.

func renewedLock(mistake string) Lock {
	return Lock{
		Name: "reported-renewed", Claims: Claims{Waits: true, Cancels: true, Lease: true, Renewal: true}, Handoff: reported.Poll, Reaches: reached,
		Busy: reported.ErrTaken, Lost: reported.ErrLost, Classify: unclear(reported.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &reported.Watched{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock}
		}),
	}
}

// watchedLock also notifies its owner of a loss.
func watchedLock(mistake string) Lock {
	l := renewedLock(mistake)
	l.Name, l.Claims.LostSign = "reported-watched", true
	l.Open = onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
		m := &reported.Watched{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake}
		return &Funcs{Acquire: m.Lock, Release: m.Unlock, LostSign: m.Lost}
	})
	return l
}

func plainLock(mistake string) Lock {
	return Lock{
		Name: "reported-plain", Claims: Claims{Waits: true, Cancels: true, Lease: true, Extends: true}, Handoff: reported.Poll, Reaches: reached,
		Busy: reported.ErrTaken, NotHeld: reported.ErrNotHeld, Classify: unclear(reported.ErrUnclear),
		Open: func(c *Client) (Session, error) {
			all, shared := connect(c), new(reported.Values)
			return opened{all, func(name, owner string) lock.Locker {
				m := &reported.Plain{Redis: all[0], Name: name, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake, Shared: shared}
				return &Funcs{Acquire: m.Lock, Release: m.Unlock, Extend: m.Extend, Until: m.Until}
			}}, nil
		},
	}
}

// endlessLock has holds that end with their release alone, so it takes back what a
// failed acquire may have been granted.
func endlessLock(mistake string) Lock {
	return Lock{
		Name: "reported-endless", Claims: Claims{Waits: true, Cancels: true, Extends: true, TakesBack: true}, Handoff: reported.Poll, Reaches: reached,
		Known: []Known{
			{Scenario: "unheard-grant", Property: "progress", Because: "nothing can take a hold without an end back while its link is cut"},
			{Scenario: crossedName, Property: "count", Faults: []string{"hold-request"}, Sometimes: true, Because: late},
		},
		Busy: reported.ErrTaken, NotHeld: reported.ErrNotHeld, Classify: unclear(reported.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &reported.Plain{Redis: on[0], Name: name, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Extend: m.Extend, Until: m.Until}
		}),
	}
}

func signalLock(mistake string) Lock {
	return Lock{
		Name: "reported-signal", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Handoff: reported.SafetyPoll, Reaches: reached,
		Keeps: []string{reported.SignalKey("{name}")},
		Busy:  reported.ErrTaken, NotHeld: reported.ErrNotHeld, Classify: unclear(reported.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			poll := reported.SafetyPoll
			if c.Poll > 0 {
				poll = min(poll, c.Poll)
			}
			m := &reported.Signal{Redis: on[0], Name: name, Lease: c.Lease, Poll: poll, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock}
		}),
	}
}

func stampLock(mistake string) Lock {
	return Lock{
		Name: "reported-stamp", Claims: Claims{Waits: true, Lease: true}, Holder: HolderNone, Keeps: []string{"{name}"}, Handoff: reported.Poll, Reaches: reached,
		Busy: reported.ErrTaken, NotHeld: reported.ErrNotHeld, Classify: unclear(reported.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &reported.Stamp{Redis: on[0], Name: name, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until}
		}),
	}
}

func registryLock(mistake string) Lock {
	return Lock{
		Name: "reported-registry", Claims: Claims{Waits: true, Cancels: true, Lease: true}, Handoff: reported.Poll, Reaches: reached, Known: localMutex,
		Busy: reported.ErrTaken, NotHeld: reported.ErrNotHeld, Classify: unclear(reported.ErrUnclear),
		Open: func(c *Client) (Session, error) {
			all := connect(c)
			r := &reported.Registry{Redis: all[0], ID: c.ID, Lease: c.Lease, Mistake: mistake}
			return opened{all, func(name, owner string) lock.Locker {
				m := &reported.Entry{Registry: r, Name: name, Rand: c.Rand(name, owner)}
				return &Funcs{Acquire: m.Lock, Release: m.Unlock}
			}}, nil
		},
	}
}

func majorityLock(mistake string) Lock {
	return Lock{
		Name: "reported-majority", Claims: Claims{Waits: true, Cancels: true, Lease: true, Extends: true}, Primaries: 3, Quorum: 2,
		Drift:   Drift{Rate: 0.01, Const: 2 * time.Millisecond},
		Handoff: reported.Delay, Busy: reported.ErrTaken, NotHeld: reported.ErrNotHeld, Classify: unclear(reported.ErrUnclear),
		Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
			m := &reported.Majority{Servers: on, Name: name, Lease: c.Lease, Rand: c.Rand(name, owner), Mistake: mistake}
			return &Funcs{Acquire: m.Lock, Release: m.Unlock, Extend: m.Extend, Until: m.Until}
		}),
	}
}
