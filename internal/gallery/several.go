package gallery

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/lock"
)

// combined are groups of members of the gallery's own.
// It implements [Locks].
type combined struct {
	p      Process
	all    bool // the group needs all of them
	member func(i int, name, thread string) lock.Locker
	// phantoms are members that only seem to be.
	phantoms []lock.Locker
	close    func() error
}

func (c combined) Locker(name, thread string) lock.Locker {
	members := append([]lock.Locker(nil), c.phantoms...)
	for i := range c.p.Clients {
		members = append(members, c.member(i, name, thread))
	}
	g := &group{members: members, need: len(members)/2 + 1, rand: c.p.Stream("rounds", thread)}
	if c.all {
		g.need = len(members)
	}
	return g
}

func (c combined) Close() error {
	if c.close == nil {
		return nil
	}
	return c.close()
}

// grouped is the base with its members behind faces. newMask is called for
// each locker, and the mask it returns for each member in turn.
func grouped(all bool, newMask func(p Process) func(f *face)) opening {
	return func(p Process) (Locks, error) {
		clients, err := openMembers(p)
		if err != nil {
			return nil, err
		}
		masks := map[string]func(f *face){}
		return combined{p: p, all: all, close: clients.close, member: func(i int, name, thread string) lock.Locker {
			if i == 0 {
				masks[thread] = newMask(p)
			}
			f := &face{base: clients[i].NewLock(name, thread)}
			masks[thread](f)
			return f
		}}, nil
	}
}

// members are the clients of the reference lock on all servers.
type members []*lock.Client

func openMembers(p Process) (members, error) {
	var all members
	for i, rdb := range p.Clients {
		opts := []lock.Option{lock.WithID(p.ID), lock.WithWatchdogTimeout(p.Lease), lock.WithRand(p.Stream("member", fmt.Sprint(i)))}
		if p.Poll > 0 {
			opts = append(opts, lock.WithSafetyPoll(p.Poll))
		}
		c, err := lock.New(rdb, opts...)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (m members) close() error {
	var errs []error
	for _, c := range m {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// several are the mistakes of locks that are made of several.
var several = openings{
	"multi-unlock-stops-at-first-error": grouped(true, func(Process) func(f *face) {
		var stopped error
		i := 0
		return func(f *face) {
			first := i == 0
			i++
			f.unlock = func(ctx context.Context) (int, error) {
				if first {
					stopped = nil
				}
				if stopped != nil {
					return 0, stopped
				}
				n, err := f.base.Unlock(ctx)
				stopped = err
				return n, err
			}
		}
	}),
	"multi-keeps-what-it-took": inRound(true),
	"redlock-keeps-minority":   inRound(false),
	"redlock-unlocks-majority-only": grouped(false, func(Process) func(f *face) {
		i := 0
		return func(f *face) {
			i++
			if i > 3 {
				f.unlock = func(context.Context) (int, error) { return 0, nil }
			}
		}
	}),
	"redlock-majority-off-by-one": quorumOf(2),
}

// round is in the context of what is done within an acquire.
type round struct{}

// inRound is a base whose members are not released within an acquire.
func inRound(all bool) opening {
	open := grouped(all, func(Process) func(f *face) {
		return func(f *face) {
			f.unlock = func(ctx context.Context) (int, error) {
				if ctx.Value(round{}) != nil {
					return 0, nil
				}
				return f.base.Unlock(ctx)
			}
		}
	})
	return func(p Process) (Locks, error) {
		base, err := open(p)
		return masked{base, func(f *face) {
			f.acquire = func(ctx context.Context, a lock.Acquire, forever bool) (lock.Grant, error) {
				return asked(context.WithValue(ctx, round{}, true), f.base, a, forever)
			}
		}}, err
	}
}

// quorumOf is a RedLock that is content with fewer members than a majority:
// the rest are phantoms that grant whatever they are asked.
func quorumOf(phantoms int) opening {
	return func(p Process) (Locks, error) {
		clients, err := openMembers(p)
		if err != nil {
			return nil, err
		}
		c := combined{p: p, close: clients.close, member: func(i int, name, thread string) lock.Locker {
			return clients[i].NewLock(name, thread)
		}}
		for range phantoms {
			c.phantoms = append(c.phantoms, phantom{p})
		}
		return c, nil
	}
}

// phantom is a member that is always granted.
// It implements [lock.Locker].
type phantom struct{ p Process }

func (ph phantom) Lock(_ context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	if a := lock.NewAcquire(opts); a.Lease > 0 {
		return lock.Grant{Count: 1, Lease: a.Lease}, nil
	}
	return lock.Grant{Count: 1, Lease: ph.p.Lease, Renewed: true}, nil
}

func (ph phantom) TryLock(ctx context.Context, opts ...lock.AcquireOption) (lock.Grant, error) {
	return ph.Lock(ctx, opts...)
}

func (phantom) Unlock(context.Context) (int, error) { return 0, nil }
